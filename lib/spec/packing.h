// SPDX-License-Identifier: Apache-2.0
#pragma once
// Can whole groups be kept on nodes at all? The search for a placement behind check_locality.

#include "lib/spec/mesh.h"

#include <optional>
#include <vector>

namespace distinit {

/// The node (by position) of each rank.
using NodeOfRank = std::vector<int>;

/// Index of the first group with ranks on more than one node, and how many there are of them.
struct LeavingGroups {
  int first = -1;
  int count = 0;

  bool operator==(const LeavingGroups&) const = default;
};

LeavingGroups find_leaving_groups(const GroupType& type, const NodeOfRank& node_of_rank);
/// True when no group of these types leaves a node.
bool keeps_together(const std::vector<GroupType>& types, const NodeOfRank& node_of_rank);

/// A placement with these numbers of ranks per node in which no group of these types leaves a node,
/// lower ranks on earlier nodes where that is free; nullopt where first fit finds none (exact when
/// all groups are of one size).
std::optional<NodeOfRank> pack_groups(const std::vector<GroupType>& types,
                                      const std::vector<int>& ranks_per_node);

}  // namespace distinit
