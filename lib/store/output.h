// SPDX-License-Identifier: Apache-2.0
#pragma once
// Bytes on their way to a non-blocking socket.

#include <string>
#include <string_view>

#include <stddef.h>

namespace distinit {

class Output {
 public:
  void append(std::string_view bytes) { bytes_ += bytes; }
  /// Where replies are written to directly.
  std::string& buffer() { return bytes_; }
  size_t pending() const { return bytes_.size() - sent_; }
  /// Sends what the socket takes now. False when the connection is broken: nothing more will go
  /// out, and what was pending is dropped.
  bool flush(int fd);

 private:
  std::string bytes_;
  size_t sent_ = 0;
};

}  // namespace distinit
