// SPDX-License-Identifier: Apache-2.0
#pragma once
// Slurm's arithmetic of `srun --distribution`: which ranks a node gets, once it is known how many.
// Source: Slurm src/common/slurm_step_layout.c.

#include <vector>

namespace distinit {

/// The first level of `srun --distribution`. (`arbitrary` is a list and not a rule.)
enum class Distribution { kBlock, kCyclic, kPlane };

/// For each node its ranks, ascending; ranks count from 0 to the sum of the counts, each is given
/// once. kBlock: consecutive ranks node by node. kCyclic: one rank a node in turn, over the nodes
/// that still have room. kPlane: the same in runs of `plane_size` (at least 1; ignored otherwise),
/// a run being cut short by a node that is full. Counts below 1 give a node nothing.
std::vector<std::vector<int>> place_ranks(const std::vector<int>& tasks_per_node,
                                          Distribution distribution, int plane_size);

}  // namespace distinit
