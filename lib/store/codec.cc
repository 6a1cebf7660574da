// SPDX-License-Identifier: Apache-2.0
#include "lib/store/codec.h"

#include "lib/base/text.h"

#include <utility>

namespace distinit {

namespace {

// The fields that follow a command byte, one letter each.
constexpr char kKey = 'k';
constexpr char kValue = 'v';
constexpr char kKeys = 'K';     // a list
constexpr char kPairs = 'P';    // a count, then keys and values in turn
constexpr char kInteger = 'i';  // i64
constexpr char kWord = 'w';     // u32

// Buffers are given back to the system when they once held a large value.
constexpr size_t kKeepCapacity = 65'536;

std::string_view fields_of(Operation operation) {
  switch (operation) {
    case Operation::kValidate:
    case Operation::kPing:
      return "w";
    case Operation::kSet:
    case Operation::kAppend:
    case Operation::kQueuePush:
      return "kv";
    case Operation::kCompareSet:
      return "kvv";
    case Operation::kGet:
    case Operation::kWatch:
    case Operation::kDelete:
    case Operation::kQueuePop:
    case Operation::kQueueLength:
      return "k";
    case Operation::kAdd:
    case Operation::kBarrier:
      return "ki";
    case Operation::kCheck:
    case Operation::kWait:
    case Operation::kMultiGet:
      return "K";
    case Operation::kMultiSet:
      return "P";
    case Operation::kCountKeys:
    case Operation::kCancelWait:
    case Operation::kListKeys:
      return "";
  }
  return "";
}

}  // namespace

Error RequestDecoder::malformed(std::string_view what, uint64_t value) {
  failed_ = true;
  return Error{
      ErrorCode::kRendezvous, concat("malformed store request: ", what, " ", value), {}, 0};
}

std::optional<uint8_t> RequestDecoder::next_command() const {
  if (request_ || pending() == 0) {
    return std::nullopt;
  }
  return static_cast<uint8_t>(buffer_[start_]);
}

void RequestDecoder::compact() {
  if (start_ == buffer_.size()) {
    buffer_.clear();
    start_ = 0;
    if (buffer_.capacity() > kKeepCapacity) {
      buffer_.shrink_to_fit();
    }
  } else if (start_ >= buffer_.size() / 2) {
    buffer_.erase(0, start_);
    start_ = 0;
  }
}

std::optional<uint64_t> RequestDecoder::read_integer(size_t bytes) {
  if (pending() < bytes) {
    return std::nullopt;
  }
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) {
    value |= uint64_t{static_cast<uint8_t>(buffer_[start_ + i])} << (8 * i);
  }
  start_ += bytes;
  return value;
}

Result<bool> RequestDecoder::read_text(uint64_t longest, std::vector<std::string>& into) {
  if (!length_) {
    length_ = read_integer(8);
    if (!length_) {
      return false;
    }
    if (*length_ > longest) {
      return malformed(longest == kLongestKey ? "key length" : "value length", *length_);
    }
  }
  if (pending() < *length_) {
    return false;
  }
  into.emplace_back(buffer_, start_, *length_);
  start_ += *length_;
  length_.reset();
  return true;
}

Result<bool> RequestDecoder::read_count() {
  if (!items_) {
    items_ = read_integer(8);
    if (items_ && *items_ > kMostKeys) {
      return malformed("number of keys", *items_);
    }
  }
  return items_.has_value();
}

Result<bool> RequestDecoder::read_field(char field) {
  switch (field) {
    case kKey:
      return read_text(kLongestKey, request_->keys);
    case kValue:
      return read_text(kLongestValue, request_->values);
    case kInteger:
    case kWord: {
      const auto value = read_integer(field == kInteger ? 8 : 4);
      if (value) {
        request_->number = static_cast<int64_t>(*value);
      }
      return value.has_value();
    }
    default:
      break;
  }
  DISTINIT_ASSIGN_OR_RETURN(const bool counted, read_count());
  while (counted && *items_ > 0) {
    const bool value_next = field == kPairs && request_->keys.size() > request_->values.size();
    DISTINIT_ASSIGN_OR_RETURN(const bool whole, read_field(value_next ? kValue : kKey));
    if (!whole) {
      return false;
    }
    if (field == kKeys || value_next) {
      --*items_;
    }
  }
  if (counted) {
    items_.reset();
  }
  return counted;
}

Status RequestDecoder::begin() {
  const auto command = static_cast<uint8_t>(buffer_[start_]);
  const auto operation = operation_for(dialect_, command);
  if (!operation) {
    return malformed("command", command);
  }
  if (dialect_ == Dialect::kD3 && validated_ == (*operation == Operation::kValidate)) {
    return malformed(validated_ ? "a second handshake, command" : "no handshake before command",
                     command);
  }
  ++start_;
  request_.emplace();
  request_->operation = *operation;
  fields_ = fields_of(*operation);
  return Ok{};
}

Status RequestDecoder::check_handshake() {
  if (request_->operation == Operation::kValidate) {
    if (request_->number != kValidateMagic) {
      return malformed("handshake", static_cast<uint64_t>(request_->number));
    }
    validated_ = true;
  }
  return Ok{};
}

Result<std::optional<Request>> RequestDecoder::next() {
  if (failed_) {
    return malformed("after an error, bytes", pending());
  }
  if (!request_) {
    if (pending() == 0) {
      return std::optional<Request>();
    }
    DISTINIT_RETURN_IF_ERROR(begin());
  }
  while (!fields_.empty()) {
    DISTINIT_ASSIGN_OR_RETURN(const bool whole, read_field(fields_.front()));
    if (!whole) {
      compact();
      return std::optional<Request>();
    }
    fields_.remove_prefix(1);
  }
  DISTINIT_RETURN_IF_ERROR(check_handshake());
  compact();
  return std::exchange(request_, std::nullopt);
}

void put_u8(std::string& out, uint8_t value) {
  out += static_cast<char>(value);
}

void put_u32(std::string& out, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) {
    out += static_cast<char>(value >> shift);
  }
}

void put_u64(std::string& out, uint64_t value) {
  for (int shift = 0; shift < 64; shift += 8) {
    out += static_cast<char>(value >> shift);
  }
}

void put_text(std::string& out, std::string_view text) {
  put_u64(out, text.size());
  out += text;
}

std::optional<std::string> encode_request(Dialect dialect, const Request& request) {
  const auto command = command_for(dialect, request.operation);
  if (!command) {
    return std::nullopt;
  }
  std::string out;
  put_u8(out, *command);
  size_t values = 0;
  for (const char field : fields_of(request.operation)) {
    switch (field) {
      case kKey:
        put_text(out, request.keys[0]);
        break;
      case kValue:
        put_text(out, request.values[values++]);
        break;
      case kInteger:
        put_u64(out, static_cast<uint64_t>(request.number));
        break;
      case kWord:
        put_u32(out, static_cast<uint32_t>(request.number));
        break;
      default:
        put_u64(out, request.keys.size());
        for (size_t i = 0; i < request.keys.size(); ++i) {
          put_text(out, request.keys[i]);
          if (field == kPairs) {
            put_text(out, request.values[i]);
          }
        }
    }
  }
  return out;
}

}  // namespace distinit
