// SPDX-License-Identifier: Apache-2.0
#include "lib/base/text.h"
#include "lib/spec/layout.h"
#include "lib/spec/placement.h"

#include <criterion/criterion.h>

using namespace distinit;

namespace {

Mesh mesh_of(std::string_view text, int world_size) {
  const auto mesh = resolve_mesh(*parse_spec(text), world_size);
  cr_assert(mesh.has_value(), "%s", mesh.error().what.c_str());
  return *mesh;
}

Layout placed(const std::vector<int>& counts, Distribution distribution, int plane = 1) {
  Layout layout;
  for (auto& ranks : place_ranks(counts, distribution, plane)) {
    const int index = static_cast<int>(layout.nodes.size());
    layout.nodes.push_back({concat('n', index + 1), index, std::move(ranks)});
  }
  return layout;
}

}  // namespace

Test(locality, is_silent_where_groups_stay_on_their_nodes) {
  cr_assert(check_locality(mesh_of("tp2,dp2", 4), placed({2, 2}, Distribution::kBlock)).empty());
  cr_assert(check_locality(mesh_of("tp2,dp2", 4), placed({4}, Distribution::kBlock)).empty());
  cr_assert(check_locality(mesh_of("dp4", 4), placed({2, 2}, Distribution::kCyclic)).empty());
}

Test(locality, is_silent_where_nothing_helps) {
  cr_assert(check_locality(mesh_of("tp4", 4), placed({2, 2}, Distribution::kBlock)).empty());
  cr_assert(check_locality(mesh_of("tp2,dp4", 8), placed({3, 5}, Distribution::kBlock)).empty());
}

Test(locality, names_block_for_an_inner_tp) {
  const auto findings =
      check_locality(mesh_of("tp2,dp2", 4), placed({2, 2}, Distribution::kCyclic));
  cr_assert(findings == (std::vector<Finding>{
                            {"tp group 0 (ranks 0 1) is spread over nodes n1, n2, like 1 other",
                             "--distribution=block keeps each tp group on one node"}}));
}

Test(locality, names_cyclic_for_an_outer_tp) {
  const auto findings = check_locality(mesh_of("pp2,tp4", 8), placed({4, 4}, Distribution::kBlock));
  cr_assert(findings == (std::vector<Finding>{
                            {"tp group 0 (ranks 0 2 4 6) is spread over nodes n1, n2, like 1 other",
                             "--distribution=cyclic keeps each tp group on one node"}}));
}

Test(locality, names_a_plane_where_only_that_helps) {
  const auto findings =
      check_locality(mesh_of("etp2,pp4,tp2", 16), placed({4, 4, 4, 4}, Distribution::kBlock));
  cr_assert(findings == (std::vector<Finding>{
                            {"tp group 0 (ranks 0 8) is spread over nodes n1, n3, like 7 others",
                             "--distribution=plane=2 keeps each tp and etp group on one node"}}));
}

Test(locality, writes_a_host_file_where_no_distribution_helps) {
  const auto findings = check_locality(mesh_of("dp3,tp2", 6), placed({4, 2}, Distribution::kBlock));
  cr_assert(findings ==
            (std::vector<Finding>{
                {"tp group 1 (ranks 1 4) is spread over nodes n1, n2, like 1 other",
                 "-m arbitrary with a SLURM_HOSTFILE of one line a rank, n1 n1 n2 n1 n1 n2, keeps "
                 "each tp group on one node"}}));
  const auto long_file =
      check_locality(mesh_of("dp15,tp2", 30), placed({28, 2}, Distribution::kBlock));
  cr_assert(long_file.size() == 1);
  cr_assert(long_file[0].hint.find("n1 n1 n1 n1 n1 n1 n1 n1 n1 n1 n1 n1 n1 n1 n2 n1 …, keeps") !=
            std::string::npos);
}

Test(locality, reports_expert_groups) {
  const auto findings =
      check_locality(mesh_of("dp8,expert.ep=4", 8), placed({4, 4}, Distribution::kCyclic));
  cr_assert(findings == (std::vector<Finding>{
                            {"ep group 0 (ranks 0 1 2 3) is spread over nodes n1, n2, like 1 other",
                             "--distribution=block keeps each ep group on one node"}}));
  const auto plain = check_locality(mesh_of("ep4,dp2", 8), placed({4, 4}, Distribution::kCyclic));
  cr_assert(plain == findings);
}

Test(locality, puts_tp_before_ep_where_only_one_can_stay) {
  // tp x ep is 8: a node of 4 can hold tp groups or ep groups, not both.
  const auto findings =
      check_locality(mesh_of("tp4,ep2,dp1", 8), placed({4, 4}, Distribution::kCyclic));
  cr_assert(findings.size() == 1);
  cr_assert(findings[0].what.starts_with("tp group 0"));
  cr_assert(check_locality(mesh_of("tp4,ep2", 8), placed({4, 4}, Distribution::kBlock)).empty());
}

Test(locality, abbreviates_long_groups) {
  std::vector<int> counts(2, 64);
  const auto findings =
      check_locality(mesh_of("tp64,dp2", 128), placed(counts, Distribution::kCyclic));
  cr_assert(findings.size() == 1);
  cr_assert(findings[0].what ==
            "tp group 0 (ranks 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 …) is spread over nodes n1, n2, "
            "like 1 other");
}
