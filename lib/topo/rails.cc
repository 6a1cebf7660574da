// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/distance.h"

#include <algorithm>
#include <map>
#include <utility>

namespace distinit {

namespace {

/// Lower is nearer: the class, and among the farthest the package.
int nearness(const PathMatrix& matrix, int gpu, int hca) {
  const auto row = static_cast<size_t>(gpu);
  const auto column = static_cast<size_t>(hca);
  const PathClass path = matrix.paths[row][column];
  const bool other_package =
      path == PathClass::kSys && !matrix.same_package.empty() && !matrix.same_package[row][column];
  return static_cast<int>(path) + (other_package ? 1 : 0);
}

/// Those of a group's nearest set that no GPU outside the group is nearer to; all of them where
/// that leaves none.
std::vector<int> unclaimed(const PathMatrix& matrix, const std::vector<int>& gpus,
                           const std::vector<int>& group, const std::vector<int>& set) {
  std::vector<int> left;
  for (const int hca : set) {
    const int own = nearness(matrix, group.front(), hca);
    const bool claimed = std::any_of(gpus.begin(), gpus.end(), [&](int gpu) {
      return std::find(group.begin(), group.end(), gpu) == group.end() &&
             nearness(matrix, gpu, hca) < own;
    });
    if (!claimed) {
      left.push_back(hca);
    }
  }
  return left.empty() ? set : left;
}

}  // namespace

std::vector<int> deal_rails(const PathMatrix& matrix, const std::vector<int>& gpus,
                            const std::vector<int>& candidates) {
  std::map<std::vector<int>, std::vector<int>> groups;  // nearest set to GPUs, in order
  for (const int gpu : gpus) {
    groups[nearest_hcas(matrix, gpu, candidates)].push_back(gpu);
  }
  std::map<int, int> rail_of;
  for (const auto& [set, group] : groups) {
    const std::vector<int> rails = unclaimed(matrix, gpus, group, set);
    for (size_t i = 0; i < group.size(); ++i) {
      rail_of[group[i]] = rails.empty() ? -1 : rails[i % rails.size()];
    }
  }
  std::vector<int> out;
  for (const int gpu : gpus) {
    out.push_back(rail_of[gpu]);
  }
  return out;
}

}  // namespace distinit
