// SPDX-License-Identifier: Apache-2.0
#pragma once
// TCPStore requests and replies as bytes, apart from sockets. Integers are little-endian; a text is
// a u64 length and its bytes; a list is a u64 count and its texts.

#include "lib/base/result.h"
#include "lib/store/dialect.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stddef.h>
#include <stdint.h>

namespace distinit {

/// PyTorch's libuv server has the same limits; older servers had none and ran out of memory.
constexpr uint64_t kLongestKey = 8192;
constexpr uint64_t kLongestValue = uint64_t{8} << 20;
constexpr uint64_t kMostKeys = 131'072;

/// One whole request. `keys` and `values` hold what the operation carries, in its order:
/// SET key+value, COMPARE_SET key+expected+desired, MULTI_SET as many keys as values, …
struct Request {
  Operation operation = Operation::kValidate;
  std::vector<std::string> keys;
  std::vector<std::string> values;
  int64_t number = 0;  ///< ADD's delta, BARRIER's world size, VALIDATE's magic, PING's nonce

  bool operator==(const Request&) const = default;
};

/// Collects bytes as they come and gives back whole requests. A request may be split anywhere, and
/// several may come at once. Memory grows with what has arrived, never with what a length
/// announces, and no byte is looked at twice.
class RequestDecoder {
 public:
  explicit RequestDecoder(Dialect dialect) : dialect_(dialect) {}

  Dialect dialect() const { return dialect_; }
  /// For a connection that turns out to be D1 or D2. Only between requests.
  void set_dialect(Dialect dialect) { dialect_ = dialect; }

  void append(std::string_view bytes) { buffer_ += bytes; }
  /// The next request's command byte; nullopt inside a request or where no byte has come.
  std::optional<uint8_t> next_command() const;
  /// The next whole request, nullopt when more bytes are needed. A kRendezvous Error, and the
  /// connection is to be closed: unknown command, a length over the limit, VALIDATE's magic wrong,
  /// VALIDATE not first and once in D3. After an Error every call gives an Error.
  Result<std::optional<Request>> next();
  /// Bytes received and not yet part of a request that was given back.
  size_t pending() const { return buffer_.size() - start_; }

 private:
  Status begin();
  Result<bool> read_field(char field);
  Result<bool> read_text(uint64_t longest, std::vector<std::string>& into);
  Result<bool> read_count();
  std::optional<uint64_t> read_integer(size_t bytes);
  Status check_handshake();
  void compact();
  Error malformed(std::string_view what, uint64_t value);

  Dialect dialect_;
  std::string buffer_;
  size_t start_ = 0;
  std::optional<Request> request_;  // the one being read
  std::string_view fields_;         // what it still lacks
  std::optional<uint64_t> length_;  // of the text being read
  std::optional<uint64_t> items_;   // of the list being read: how many are to come
  bool validated_ = false;
  bool failed_ = false;
};

/// Reply and request pieces. The caller writes a whole reply in one go: PyTorch's own server took
/// 200 ms for some because it did not.
void put_u8(std::string& out, uint8_t value);
void put_u32(std::string& out, uint32_t value);
void put_u64(std::string& out, uint64_t value);
void put_text(std::string& out, std::string_view text);

/// WAIT and BARRIER end with it; CHECK answers it when all keys are there.
constexpr uint8_t kReplyReady = 0;
/// CHECK's other answer.
constexpr uint8_t kReplyNotReady = 1;
constexpr uint8_t kReplyWaitCanceled = 1;
constexpr uint8_t kReplyWatchRegistered = 3;

/// The bytes of a request; nullopt where the dialect lacks the operation.
std::optional<std::string> encode_request(Dialect dialect, const Request& request);

}  // namespace distinit
