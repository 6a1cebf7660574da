// SPDX-License-Identifier: Apache-2.0
#pragma once
// Comparing texts in tests: Criterion's cr_expect_str_eq keeps a pointer into a temporary that is
// gone when it compares; this keeps copies, and a failure shows both.

#include <string>

#include <criterion/criterion.h>

#define EXPECT_TEXT(actual, expected)                                                          \
  do {                                                                                         \
    const std::string actual_text_(actual);                                                    \
    const std::string expected_text_(expected);                                                \
    cr_expect(actual_text_ == expected_text_, "got '%s', expected '%s'", actual_text_.c_str(), \
              expected_text_.c_str());                                                         \
  } while (false)
