// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the agents have found out about their nodes, and how the root tells it: once for all nodes
// that found the same, and where nodes should be alike and are not.

#include "lib/base/finding.h"

#include <map>
#include <string>
#include <vector>

namespace distinit {

struct NodeReport {
  std::string node;
  /// Its usable HCA ports, "mlx5_0:1,mlx5_1:1"; empty for none.
  std::string fabric;
  /// Without the node's name.
  std::vector<Finding> findings;
  /// False where nobody has looked (bind=none, or the topology could not be read).
  bool knows_fabric = false;

  bool operator==(const NodeReport&) const = default;
};

/// One finding "n1, n2 and 3 other nodes: what" for each that any node has, in the order of the
/// nodes; then one that names the HCAs of each kind of node where those that know theirs differ.
std::vector<Finding> merge_reports(const std::map<int, NodeReport>& by_group_rank);

}  // namespace distinit
