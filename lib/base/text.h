// SPDX-License-Identifier: Apache-2.0
#pragma once
// Text without a formatting library: the plugin and the stage are built from libc and libstdc++
// alone.

#include <charconv>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace distinit {

inline void append_text(std::string& out, std::string_view text) {
  out += text;
}
inline void append_text(std::string& out, char c) {
  out += c;
}
template <typename T>
requires(std::integral<T> && !std::same_as<T, char> &&
         !std::same_as<T, bool>) void append_text(std::string& out, T number) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, end);
}

/// The arguments (text, characters, integers) one after another.
template <typename... Parts>
std::string concat(const Parts&... parts) {
  std::string out;
  (append_text(out, parts), ...);
  return out;
}

/// The pieces between separators. An empty text gives one empty piece.
std::vector<std::string_view> split(std::string_view text, char separator);

/// The pieces with `separator` between them.
std::string join(const std::vector<std::string>& pieces, std::string_view separator);

/// A whole decimal number without sign, blanks or trailing text, within [low, high]; nullopt
/// otherwise.
std::optional<long long> parse_number(std::string_view text, long long low, long long high);

/// The text cut to `most` bytes for a message, with "…" where something was left out, and with
/// bytes that are not printable ASCII replaced by '?'.
std::string abbreviate(std::string_view text, size_t most = 60);

/// Lower-case hexadecimal digits of the bytes, and back (nullopt: odd length or another character).
std::string to_hex(std::string_view bytes);
std::optional<std::string> from_hex(std::string_view digits);

}  // namespace distinit
