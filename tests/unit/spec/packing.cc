// SPDX-License-Identifier: Apache-2.0
#include "lib/spec/packing.h"

#include <criterion/criterion.h>

#include <algorithm>
#include <random>

using namespace distinit;

namespace {

std::vector<GroupType> types_of(std::string_view text, int world_size, size_t how_many) {
  auto types = resolve_mesh(*parse_spec(text), world_size)->group_types;
  types.resize(how_many);
  return types;
}

}  // namespace

Test(packing, finds_the_groups_that_leave_a_node) {
  const auto types = types_of("tp2,dp2", 4, 1);
  cr_assert(find_leaving_groups(types[0], {0, 0, 1, 1}) == (LeavingGroups{-1, 0}));
  cr_assert(find_leaving_groups(types[0], {0, 1, 1, 1}) == (LeavingGroups{0, 1}));
  cr_assert(find_leaving_groups(types[0], {0, 0, 0, 1}) == (LeavingGroups{1, 1}));
  cr_assert(find_leaving_groups(types[0], {0, 1, 0, 1}) == (LeavingGroups{0, 2}));
}

Test(packing, chains_groups_of_several_types) {
  // tp and dp together tie all four ranks to one node.
  cr_assert(!pack_groups(types_of("tp2,dp2", 4, 2), {2, 2}));
  cr_assert(pack_groups(types_of("tp2,dp2", 4, 2), {4}) == (NodeOfRank{0, 0, 0, 0}));
  cr_assert(pack_groups(types_of("tp2,dp2", 4, 1), {2, 2}) == (NodeOfRank{0, 0, 1, 1}));
}

Test(packing, uses_nodes_of_any_size) {
  cr_assert(pack_groups(types_of("dp3,tp2", 6, 2), {1, 5}) == std::nullopt);
  auto tp = types_of("dp3,tp2", 6, 2);
  tp.erase(tp.begin());
  cr_assert(pack_groups(tp, {4, 2}) == (NodeOfRank{0, 0, 1, 0, 0, 1}));
  cr_assert(!pack_groups(tp, {3, 3}));
}

Test(packing, keeps_counts_and_groups_whenever_it_succeeds) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  const auto types = types_of("dp3,tp2,pp4", 24, 3);
  const std::vector<GroupType> tp = {types[1]};
  int packed_times = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<int> counts;
    for (int left = 24; left > 0; left -= counts.back()) {
      counts.push_back(std::min(left, pick(1, 9)));
    }
    const auto packed = pack_groups(tp, counts);
    const bool possible = std::ranges::all_of(counts, [](int c) { return c % 2 == 0; });
    cr_assert(packed.has_value() == possible, "seed %u", seed);
    if (!packed) {
      continue;
    }
    ++packed_times;
    cr_assert(keeps_together(tp, *packed), "seed %u", seed);
    for (size_t node = 0; node < counts.size(); ++node) {
      cr_assert(std::ranges::count(*packed, static_cast<int>(node)) == counts[node], "seed %u",
                seed);
    }
  }
  cr_assert(packed_times > 0, "seed %u", seed);
}
