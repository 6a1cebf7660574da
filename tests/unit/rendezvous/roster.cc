// SPDX-License-Identifier: Apache-2.0
#include "lib/rendezvous/roster.h"

#include <criterion/criterion.h>

using namespace distinit;

namespace {

Join make_join(const std::string& node, int group_rank, std::vector<int> ranks) {
  return Join{node, group_rank, std::move(ranks), "10.0.0.1", "tp2,dp2", "0.1.0"};
}

}  // namespace

Test(roster, is_complete_when_all_nodes_and_ranks_are_there) {
  Roster roster(2, 4, {"n1", "n2"});
  cr_assert_eq(roster.missing(), "2 of 2 nodes (n[1-2])");
  cr_assert(roster.join(make_join("n1", 0, {0, 1})).has_value());
  cr_assert(roster.join(make_join("n2", 1, {2, 3})).has_value());
  cr_assert(roster.has_all_nodes());
  cr_assert_not(roster.is_complete());
  roster.present(0, {0, 1});
  roster.present(1, {3});
  cr_assert_eq(roster.missing(), "rank 2 on n2");
  roster.present(1, {2, 3});
  cr_assert(roster.is_complete());
  cr_assert_eq(roster.missing(), "");
}

Test(roster, names_missing_nodes_and_ranks_together) {
  Roster roster(3, 6, {"n1", "n2", "n3"});
  cr_assert(roster.join(make_join("n1", 0, {0, 1})).has_value());
  cr_assert(roster.join(make_join("n3", 2, {4, 5})).has_value());
  roster.present(0, {0, 1});
  cr_assert_eq(roster.missing(), "1 of 3 nodes (n2), ranks 4-5 on n3");
}

Test(roster, ignores_ranks_of_another_node) {
  Roster roster(2, 2, {"n1", "n2"});
  cr_assert(roster.join(make_join("n1", 0, {0})).has_value());
  cr_assert(roster.join(make_join("n2", 1, {1})).has_value());
  roster.present(0, {0, 1});
  cr_assert_eq(roster.missing(), "rank 1 on n2");
}

Test(roster, refuses_contradictions_and_names_both_nodes) {
  Roster roster(2, 4, {"n1", "n2"});
  cr_assert(roster.join(make_join("n1", 0, {0, 1})).has_value());
  const auto same_place = roster.join(make_join("n2", 0, {2, 3}));
  cr_assert_eq(same_place.error().what, "n2 and n1 both say they are node 0");
  const auto same_rank = roster.join(make_join("n2", 1, {1, 2}));
  cr_assert_eq(same_rank.error().what, "n2 and n1 both hold rank 1");
  Join other = make_join("n2", 1, {2, 3});
  other.version = "0.2.0";
  cr_assert_eq(roster.join(other).error().what,
               "n2 and n1 have different releases of distinit: 0.2.0 and 0.1.0");
  other = make_join("n2", 1, {2, 3});
  other.spec = "dp4";
  cr_assert_eq(roster.join(other).error().what, "n2 and n1 have different SPECs: dp4 and tp2,dp2");
  cr_assert_eq(roster.join(make_join("n2", 2, {2})).error().what,
               "n2 says it is node 2 of a step with 2 nodes");
  cr_assert_eq(roster.join(make_join("n2", 1, {2, 4})).error().what,
               "n2 holds rank 4 of a world of 4");
  // Nothing of what was refused has been kept.
  cr_assert(roster.join(make_join("n2", 1, {2, 3})).has_value());
}

Test(roster, gives_the_layout_by_group_rank) {
  Roster roster(2, 3, {"n1", "n3"});
  cr_assert(roster.join(make_join("n1", 1, {2})).has_value());
  cr_assert(roster.join(make_join("n3", 0, {0, 1})).has_value());
  const Layout expected{{NodeRanks{"n3", 0, {0, 1}}, NodeRanks{"n1", 1, {2}}}};
  cr_assert(roster.layout() == expected);
}

Test(roster, writes_ranks_as_ranges) {
  cr_assert_eq(format_ranks({}), "");
  cr_assert_eq(format_ranks({3}), "3");
  cr_assert_eq(format_ranks({0, 1, 2, 3, 7, 9, 10}), "0-3,7,9-10");
}
