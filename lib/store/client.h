// SPDX-License-Identifier: Apache-2.0
#pragma once
// A blocking client of a store, for tools, tests and programs without PyTorch. Speaks the current
// dialect (PyTorch 2.2 and later).

#include "lib/base/deadline.h"
#include "lib/base/fd.h"
#include "lib/base/result.h"
#include "lib/store/codec.h"

#include <string>
#include <string_view>
#include <vector>

#include <stdint.h>

namespace distinit {

/// One connection. Keys are as on the wire: PyTorch's key `k` is `/k` here. Errors are kRendezvous
/// and name the endpoint and the key; `sys_errno` is ETIMEDOUT when the deadline passed. After an
/// error other than a deadline that passed while waiting for a key, the connection is closed and
/// every further call fails. Not for several threads at once.
class StoreClient {
 public:
  /// Tries until the deadline: a store that is not up yet is waited for. `host` is numeric.
  static Result<StoreClient> connect(std::string_view host, int port, Deadline deadline);

  Status set(std::string_view key, std::string_view value, Deadline deadline);
  /// Waits until the key is there.
  Result<std::string> get(std::string_view key, Deadline deadline);
  /// Waits until all keys are there. When the deadline passes the wait is withdrawn, and the
  /// connection is good for more.
  Status wait(const std::vector<std::string>& keys, Deadline deadline);
  /// Waits until all keys are there; their values in the same order. Two operations, however many
  /// keys.
  Result<std::vector<std::string>> multi_get(const std::vector<std::string>& keys,
                                             Deadline deadline);
  /// The sum. Fails, and closes the connection, where the value is not a number.
  Result<int64_t> add(std::string_view key, int64_t delta, Deadline deadline);
  /// True when all keys are there now.
  Result<bool> check(const std::vector<std::string>& keys, Deadline deadline);
  /// True when there was something to delete.
  Result<bool> remove(std::string_view key, Deadline deadline);
  /// The value now stored, or `expected` where the key is absent and `expected` is not empty.
  Result<std::string> compare_set(std::string_view key, std::string_view expected,
                                  std::string_view desired, Deadline deadline);
  /// Counts `init/` too, where somebody has set it.
  Result<int64_t> num_keys(Deadline deadline);

 private:
  StoreClient(Fd fd, std::string endpoint) : fd_(std::move(fd)), endpoint_(std::move(endpoint)) {}

  Status send(const Request& request, Deadline deadline);
  /// Exactly `count` bytes.
  Result<std::string> receive(size_t count, Deadline deadline);
  Result<uint8_t> receive_u8(Deadline deadline);
  Result<uint64_t> receive_u64(Deadline deadline);
  Result<std::string> receive_text(Deadline deadline);
  Status withdraw_wait(const std::vector<std::string>& keys);
  /// Names endpoint and key, and closes the connection.
  Error failed(Error error, std::string_view key);

  Fd fd_;
  std::string endpoint_;
};

}  // namespace distinit
