// SPDX-License-Identifier: Apache-2.0
#include "lib/base/text.h"

#include <criterion/criterion.h>

using namespace distinit;

Test(text, concat_takes_texts_characters_and_numbers) {
  cr_assert_eq(concat("a", 'b', std::string("c"), -12, 18446744073709551615ull),
               "abc-1218446744073709551615");
}

Test(text, split_keeps_empty_pieces) {
  cr_assert(split("a,,b", ',') == (std::vector<std::string_view>{"a", "", "b"}));
  cr_assert(split("", ',') == (std::vector<std::string_view>{""}));
  cr_assert(split("a,", ',') == (std::vector<std::string_view>{"a", ""}));
}

Test(text, join_puts_the_separator_between) {
  cr_assert_eq(join({"a", "b", "c"}, ", "), "a, b, c");
  cr_assert_eq(join({}, ", "), "");
}

Test(text, parse_number_takes_whole_decimal_numbers_in_range_only) {
  cr_assert_eq(parse_number("42", 0, 100).value(), 42);
  cr_assert_eq(parse_number("007", 0, 100).value(), 7);
  cr_assert_eq(parse_number("100", 0, 100).value(), 100);
  for (const char* bad :
       {"", "-1", "+1", " 1", "1 ", "1x", "0x10", "101", "99999999999999999999"}) {
    cr_assert_not(parse_number(bad, 0, 100).has_value(), "'%s'", bad);
  }
}

Test(text, abbreviate_cuts_and_hides_what_is_not_printable) {
  cr_assert_eq(abbreviate("abc", 3), "abc");
  cr_assert_eq(abbreviate("abcd", 3), "abc…");
  cr_assert_eq(abbreviate("a\n\x1b\xff", 10), "a???");
}

Test(text, hexadecimal_goes_both_ways) {
  const std::string bytes("\x00\x7f\xff", 3);
  cr_assert_eq(to_hex(bytes), "007fff");
  cr_assert_eq(from_hex("007fff").value(), bytes);
  cr_assert_not(from_hex("0").has_value());
  cr_assert_not(from_hex("0G").has_value());
  cr_assert_not(from_hex("0A").has_value());
}
