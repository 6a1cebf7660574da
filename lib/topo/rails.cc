// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/distance.h"

#include <algorithm>
#include <map>
#include <utility>

namespace distinit {

namespace {

PathClass path_of(const PathMatrix& matrix, int gpu, int hca) {
  return matrix.paths[static_cast<size_t>(gpu)][static_cast<size_t>(hca)];
}

using Groups = std::map<std::vector<int>, std::vector<int>>;  // nearest set to GPUs, in order

/// Those of a group's nearest set that are not another group's nearest, and nearer to it; all of
/// them where that leaves none.
std::vector<int> unclaimed(const PathMatrix& matrix, const Groups& groups,
                           const Groups::value_type& own) {
  std::vector<int> left;
  for (const int hca : own.first) {
    const PathClass path = path_of(matrix, own.second.front(), hca);
    const bool claimed =
        std::any_of(groups.begin(), groups.end(), [&](const Groups::value_type& other) {
          return std::find(other.first.begin(), other.first.end(), hca) != other.first.end() &&
                 path_of(matrix, other.second.front(), hca) < path;
        });
    if (!claimed) {
      left.push_back(hca);
    }
  }
  return left.empty() ? own.first : left;
}

}  // namespace

std::vector<int> deal_rails(const PathMatrix& matrix, const std::vector<int>& gpus,
                            const std::vector<int>& candidates) {
  Groups groups;
  for (const int gpu : gpus) {
    groups[nearest_hcas(matrix, gpu, candidates)].push_back(gpu);
  }
  std::map<int, int> rail_of;
  for (const auto& own : groups) {
    const std::vector<int>& group = own.second;
    const std::vector<int> rails = unclaimed(matrix, groups, own);
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
