// SPDX-License-Identifier: Apache-2.0
#include "lib/base/wire.h"

namespace distinit {

namespace {

void put_little_endian(std::string& bytes, uint64_t value, int size) {
  for (int i = 0; i < size; ++i) {
    bytes += static_cast<char>(value >> (8 * i) & 0xff);
  }
}

uint64_t get_little_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i > 0; --i) {
    value = value << 8 | static_cast<unsigned char>(bytes[i - 1]);
  }
  return value;
}

}  // namespace

void WireWriter::put_u32(uint32_t value) {
  put_little_endian(bytes_, value, 4);
}

void WireWriter::put_u64(uint64_t value) {
  put_little_endian(bytes_, value, 8);
}

void WireWriter::put_text(std::string_view text) {
  put_u32(static_cast<uint32_t>(text.size()));
  bytes_ += text;
}

void WireWriter::put_texts(const std::vector<std::string>& texts) {
  put_u32(static_cast<uint32_t>(texts.size()));
  for (const std::string& text : texts) {
    put_text(text);
  }
}

void WireWriter::put_numbers(const std::vector<int>& numbers) {
  put_u32(static_cast<uint32_t>(numbers.size()));
  for (const int number : numbers) {
    put_u32(static_cast<uint32_t>(number));
  }
}

std::string_view WireReader::take(size_t count) {
  if (!ok_ || count > rest_.size()) {
    ok_ = false;
    return {};
  }
  const std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return taken;
}

uint8_t WireReader::get_u8() {
  return static_cast<uint8_t>(get_little_endian(take(1)));
}

uint32_t WireReader::get_u32() {
  return static_cast<uint32_t>(get_little_endian(take(4)));
}

uint64_t WireReader::get_u64() {
  return get_little_endian(take(8));
}

std::string WireReader::get_text() {
  return std::string(take(get_u32()));
}

std::vector<std::string> WireReader::get_texts() {
  std::vector<std::string> out;
  // Grows as texts are really there: a count alone allocates nothing.
  for (uint32_t count = get_u32(); count > 0 && ok_; --count) {
    out.push_back(get_text());
  }
  return out;
}

std::vector<int> WireReader::get_numbers() {
  std::vector<int> out;
  for (uint32_t count = get_u32(); count > 0 && ok_; --count) {
    out.push_back(static_cast<int>(get_u32()));
  }
  return out;
}

}  // namespace distinit
