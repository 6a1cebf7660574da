// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which rank is on which node, and what that means for the mesh.

#include "lib/base/finding.h"
#include "lib/spec/mesh.h"

#include <string>
#include <vector>

namespace distinit {

/// One node of the step.
struct NodeRanks {
  std::string name;        ///< Slurm's name of the node
  int group_rank = 0;      ///< its position in the step
  std::vector<int> ranks;  ///< ascending; the position in here is the local rank

  bool operator==(const NodeRanks&) const = default;
};

/// All nodes of a step, by group_rank.
struct Layout {
  std::vector<NodeRanks> nodes;

  bool operator==(const Layout&) const = default;
};

/// kLayout unless the nodes' ranks are exactly 0 … world_size-1, each once. The error names the
/// first rank that is missing or there twice, and its nodes.
Status check_layout(const Layout& layout, int world_size);

/// tp groups and expert groups (ep, etp) that leave a node although another placement on the same
/// nodes would keep all groups of that type in one: names the first such group and its nodes,
/// counts the rest, and gives the `--distribution` (block, cyclic or plane=N) or, where none does
/// it, the host file that cures it. Where not all types can be kept together, tp comes before etp
/// before ep. Each cure has been tried out on the layout's counts. The layout must have passed
/// check_layout.
std::vector<Finding> check_locality(const Mesh& mesh, const Layout& layout);

}  // namespace distinit
