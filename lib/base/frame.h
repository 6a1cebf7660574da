// SPDX-License-Identifier: Apache-2.0
#pragma once
// Messages on a byte stream: u32 length (little-endian, of what follows), then that many bytes, of
// which our protocols take the first as the kind of message.

#include "lib/base/result.h"

#include <optional>
#include <string>
#include <string_view>

namespace distinit {

/// No message of ours is larger; a longer one is refused as soon as its length is read.
constexpr size_t kLongestFrame = size_t{64} << 20;

/// The message with its length in front.
std::string make_frame(std::string_view message);

/// Collects bytes as they come and gives back whole messages. Memory grows with what has arrived,
/// never with what a length announces.
class FrameReader {
 public:
  void append(std::string_view bytes) { buffer_ += bytes; }
  /// The next whole message, nullopt when more bytes are needed, an Error when the length is over
  /// the limit.
  Result<std::optional<std::string>> next();
  /// Bytes received and not yet given back.
  size_t pending() const { return buffer_.size() - start_; }

 private:
  std::string buffer_;
  size_t start_ = 0;
};

}  // namespace distinit
