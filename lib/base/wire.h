// SPDX-License-Identifier: Apache-2.0
#pragma once
// Our own messages as bytes: little-endian integers, and texts with a u32 length in front. Used
// between our processes only; the TCPStore protocol has its own codec in lib/store.

#include <string>
#include <string_view>
#include <vector>

#include <stdint.h>

namespace distinit {

class WireWriter {
 public:
  void put_u8(uint8_t value) { bytes_ += static_cast<char>(value); }
  void put_u32(uint32_t value);
  void put_u64(uint64_t value);
  void put_text(std::string_view text);
  void put_texts(const std::vector<std::string>& texts);
  void put_numbers(const std::vector<int>& numbers);

  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads what WireWriter wrote. Reading past the end, or a length larger than what is left, makes
/// every later read give 0 or empty; ask ok() once at the end.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  uint8_t get_u8();
  uint32_t get_u32();
  uint64_t get_u64();
  std::string get_text();
  std::vector<std::string> get_texts();
  std::vector<int> get_numbers();

  /// Nothing was missing so far.
  bool ok() const { return ok_; }
  /// Nothing was missing and nothing is left.
  bool at_end() const { return ok_ && rest_.empty(); }

 private:
  std::string_view take(size_t count);

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace distinit
