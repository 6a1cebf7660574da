// SPDX-License-Identifier: Apache-2.0
#include "lib/base/environment.h"

#include <criterion/criterion.h>

using namespace distinit;

Test(environment, reads_edits_and_writes) {
  Environment environment(std::vector<std::string>{"B=2", "A=1", "C=x=y", "=odd", "none"});
  cr_assert_eq(environment.get("C").value(), "x=y");
  cr_assert_not(environment.has("none"));
  environment.set("A", "3");
  environment.unset("B");
  environment.unset("never");
  cr_assert(environment.entries() == (std::vector<std::string>{"A=3", "C=x=y"}));
}

Test(environment, first_of_two_equal_names_counts_as_in_getenv) {
  cr_assert_eq(Environment(std::vector<std::string>{"A=1", "A=2"}).get("A").value(), "1");
}

Test(environment, empty_value_is_set) {
  const Environment environment(std::vector<std::string>{"A="});
  cr_assert(environment.has("A"));
  cr_assert_eq(environment.get_or("A", "other"), "");
  cr_assert_eq(environment.get_or("B", "other"), "other");
}

Test(environment, null_array_is_empty) {
  cr_assert(Environment(static_cast<char* const*>(nullptr)).entries().empty());
}
