// SPDX-License-Identifier: Apache-2.0
#include "lib/base/nearest.h"

#include <string>

#include <criterion/criterion.h>

using namespace distinit;

Test(nearest, counts_edits) {
  cr_assert_eq(edit_distance("", ""), 0);
  cr_assert_eq(edit_distance("tp", "tp"), 0);
  cr_assert_eq(edit_distance("tpp", "tp"), 1);
  cr_assert_eq(edit_distance("pt", "tp"), 1);
  cr_assert_eq(edit_distance("timout", "timeout"), 1);
  cr_assert_eq(edit_distance("abc", ""), 3);
}

Test(nearest, long_words_are_compared_by_their_beginning) {
  cr_assert_eq(edit_distance(std::string(1000, 'a'), std::string(100, 'a')), 0);
}

Test(nearest, finds_the_nearest_word_or_none) {
  const std::vector<std::string_view> known = {"timeout", "linger", "port", "ports"};
  cr_assert_eq(nearest("timout", known), "timeout");
  cr_assert_eq(nearest("prot", known), "port");
  cr_assert_eq(nearest("completely", known), "");
}
