// SPDX-License-Identifier: Apache-2.0
#include "lib/spec/placement.h"

#include <criterion/criterion.h>

#include <random>

using namespace distinit;

using Placed = std::vector<std::vector<int>>;

Test(placement, block_numbers_node_by_node) {
  cr_assert(place_ranks({3, 3, 2, 2}, Distribution::kBlock, 0) ==
            (Placed{{0, 1, 2}, {3, 4, 5}, {6, 7}, {8, 9}}));
}

Test(placement, cyclic_skips_full_nodes) {
  cr_assert(place_ranks({3, 1}, Distribution::kCyclic, 0) == (Placed{{0, 2, 3}, {1}}));
  cr_assert(place_ranks({2, 2}, Distribution::kCyclic, 0) == (Placed{{0, 2}, {1, 3}}));
}

Test(placement, plane_deals_in_runs) {
  cr_assert(place_ranks({4, 4, 2, 2}, Distribution::kPlane, 2) ==
            (Placed{{0, 1, 8, 9}, {2, 3, 10, 11}, {4, 5}, {6, 7}}));
  cr_assert(place_ranks({3, 3}, Distribution::kPlane, 2) == (Placed{{0, 1, 4}, {2, 3, 5}}));
  cr_assert(place_ranks({2, 2}, Distribution::kPlane, 0) ==
            place_ranks({2, 2}, Distribution::kCyclic, 0));
}

Test(placement, leaves_out_nodes_without_tasks) {
  cr_assert(place_ranks({0, 2, -1}, Distribution::kCyclic, 0) == (Placed{{}, {0, 1}, {}}));
  cr_assert(place_ranks({}, Distribution::kBlock, 0).empty());
}

Test(placement, gives_each_rank_once_and_keeps_the_counts) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int round = 0; round < 500; ++round) {
    std::vector<int> counts(static_cast<size_t>(pick(1, 9)));
    size_t world_size = 0;
    for (int& count : counts) {
      count = pick(0, 9);
      world_size += static_cast<size_t>(count);
    }
    const auto distribution = static_cast<Distribution>(pick(0, 2));
    const Placed placed = place_ranks(counts, distribution, pick(1, 5));
    std::vector<int> times(world_size, 0);
    for (size_t node = 0; node < counts.size(); ++node) {
      cr_assert(static_cast<int>(placed[node].size()) == counts[node], "seed %u", seed);
      int before = -1;
      for (const int rank : placed[node]) {
        cr_assert(rank > before && rank < static_cast<int>(world_size), "seed %u", seed);
        before = rank;
        ++times[static_cast<size_t>(rank)];
      }
    }
    cr_assert(times == std::vector<int>(world_size, 1), "seed %u", seed);
  }
}
