// SPDX-License-Identifier: Apache-2.0
#include "lib/spec/placement.h"

#include <algorithm>

namespace distinit {

namespace {

void give(std::vector<int>& ranks, int& next_rank, int count) {
  for (int i = 0; i < count; ++i) {
    ranks.push_back(next_rank++);
  }
}

}  // namespace

std::vector<std::vector<int>> place_ranks(const std::vector<int>& tasks_per_node,
                                          Distribution distribution, int plane_size) {
  std::vector<std::vector<int>> placed(tasks_per_node.size());
  std::vector<size_t> open;  // nodes with room, in order
  for (size_t i = 0; i < tasks_per_node.size(); ++i) {
    if (tasks_per_node[i] > 0) {
      placed[i].reserve(static_cast<size_t>(tasks_per_node[i]));
      open.push_back(i);
    }
  }
  int next_rank = 0;
  if (distribution == Distribution::kBlock) {
    for (const size_t i : open) {
      give(placed[i], next_rank, tasks_per_node[i]);
    }
    return placed;
  }
  const int run = distribution == Distribution::kPlane ? std::max(plane_size, 1) : 1;
  while (!open.empty()) {
    for (const size_t i : open) {
      const int room = tasks_per_node[i] - static_cast<int>(placed[i].size());
      give(placed[i], next_rank, std::min(run, room));
    }
    std::erase_if(
        open, [&](size_t i) { return static_cast<int>(placed[i].size()) == tasks_per_node[i]; });
  }
  return placed;
}

}  // namespace distinit
