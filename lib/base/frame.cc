// SPDX-License-Identifier: Apache-2.0
#include "lib/base/frame.h"

#include "lib/base/text.h"
#include "lib/base/wire.h"

namespace distinit {

std::string make_frame(std::string_view message) {
  WireWriter writer;
  writer.put_text(message);
  return writer.take();
}

Result<std::optional<std::string>> FrameReader::next() {
  const std::string_view rest = std::string_view(buffer_).substr(start_);
  if (rest.size() < 4) {
    return std::optional<std::string>();
  }
  const uint32_t length = WireReader(rest).get_u32();
  if (length > kLongestFrame) {
    return Error{ErrorCode::kRendezvous, concat("a message announces ", length, " bytes"), {}, 0};
  }
  if (rest.size() - 4 < length) {
    return std::optional<std::string>();
  }
  std::string message(rest.substr(4, length));
  start_ += 4 + size_t{length};
  if (start_ == buffer_.size() || start_ > (size_t{1} << 16)) {
    buffer_.erase(0, start_);
    start_ = 0;
  }
  return std::optional<std::string>(std::move(message));
}

}  // namespace distinit
