// SPDX-License-Identifier: Apache-2.0
#include "lib/spec/packing.h"

#include <algorithm>
#include <numeric>

namespace distinit {

namespace {

size_t at(int index) {
  return static_cast<size_t>(index);
}

bool leaves_node(const std::vector<int>& ranks, const NodeOfRank& node_of_rank) {
  return std::any_of(ranks.begin(), ranks.end(), [&](int rank) {
    return node_of_rank[at(rank)] != node_of_rank[at(ranks[0])];
  });
}

/// Ranks that must share a node because groups chain them together; each set ascends, and the sets
/// are ordered by their first rank.
std::vector<std::vector<int>> chained_ranks(const std::vector<GroupType>& types, int world_size) {
  std::vector<int> parent(at(world_size));
  std::iota(parent.begin(), parent.end(), 0);
  const auto root_of = [&](int rank) {
    while (parent[at(rank)] != rank) {
      rank = parent[at(rank)] = parent[at(parent[at(rank)])];
    }
    return rank;
  };
  for (const GroupType& type : types) {
    for (int index = 0; index < group_count(type); ++index) {
      const std::vector<int> ranks = group_ranks(type, index);
      for (const int rank : ranks) {
        const auto [low, high] = std::minmax({root_of(ranks[0]), root_of(rank)});
        parent[at(high)] = low;
      }
    }
  }
  std::vector<std::vector<int>> sets;
  std::vector<int> set_of_root(at(world_size), -1);
  for (int rank = 0; rank < world_size; ++rank) {
    int& set = set_of_root[at(root_of(rank))];
    if (set < 0) {
      set = static_cast<int>(sets.size());
      sets.emplace_back();
    }
    sets[at(set)].push_back(rank);
  }
  return sets;
}

}  // namespace

LeavingGroups find_leaving_groups(const GroupType& type, const NodeOfRank& node_of_rank) {
  LeavingGroups found;
  for (int index = 0; index < group_count(type); ++index) {
    if (leaves_node(group_ranks(type, index), node_of_rank)) {
      found.first = found.count == 0 ? index : found.first;
      ++found.count;
    }
  }
  return found;
}

bool keeps_together(const std::vector<GroupType>& types, const NodeOfRank& node_of_rank) {
  for (const GroupType& type : types) {
    for (int index = 0; index < group_count(type); ++index) {
      if (leaves_node(group_ranks(type, index), node_of_rank)) {
        return false;
      }
    }
  }
  return true;
}

std::optional<NodeOfRank> pack_groups(const std::vector<GroupType>& types,
                                      const std::vector<int>& ranks_per_node) {
  const int world_size = std::accumulate(ranks_per_node.begin(), ranks_per_node.end(), 0);
  auto sets = chained_ranks(types, world_size);
  std::stable_sort(sets.begin(), sets.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  std::vector<int> room = ranks_per_node;
  NodeOfRank node_of_rank(at(world_size), 0);
  size_t node = 0;
  size_t last_size = 0;
  for (const std::vector<int>& set : sets) {
    if (set.size() != last_size) {
      node = 0;
      last_size = set.size();
    }
    while (node < room.size() && at(room[node]) < set.size()) {
      ++node;
    }
    if (node == room.size()) {
      return std::nullopt;
    }
    room[node] -= static_cast<int>(set.size());
    for (const int rank : set) {
      node_of_rank[at(rank)] = static_cast<int>(node);
    }
  }
  return node_of_rank;
}

}  // namespace distinit
