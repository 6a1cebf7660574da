// SPDX-License-Identifier: Apache-2.0
#pragma once
// Byte transcripts written as hexadecimal, blanks where they help the reader.

#include "lib/base/text.h"

#include <string>
#include <string_view>

#include <criterion/criterion.h>

inline std::string bytes(std::string_view hex) {
  std::string digits;
  for (const char c : hex) {
    if (c != ' ') {
      digits += c;
    }
  }
  const auto out = distinit::from_hex(digits);
  cr_assert(out.has_value(), "bad hexadecimal in the test: %s", digits.c_str());
  return *out;
}
