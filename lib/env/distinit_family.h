// SPDX-License-Identifier: Apache-2.0
#pragma once
// Our own variables: the mesh, this rank's place in it, its groups, and the store.

#include "lib/env/assignment.h"
#include "lib/env/rank_context.h"

namespace distinit {

/// A list of ranks longer than this many bytes is left out: every program of the step would carry
/// it.
constexpr size_t kLongestRankList = 8192;
/// All lists of one rank together; later ones are left out. execve(2) bounds the whole environment.
constexpr size_t kMostListBytes = 262144;

/// DISTINIT_SPEC, DISTINIT_STEP ("JOB.STEP.RESTART"), DISTINIT_STORE ("host:port"), DISTINIT_MESH
/// ("tp=2,dp=2"), DISTINIT_COORDS ("tp=1,dp=0"), DISTINIT_NODE; where they are known,
/// DISTINIT_GPUS, DISTINIT_GPU_PCI, DISTINIT_HCAS and DISTINIT_CPUS; and for each type of group T
/// (upper case, '-' as '_'): DISTINIT_T_SIZE, DISTINIT_T_RANK (position in the group),
/// DISTINIT_T_GROUP (which group), DISTINIT_T_RANKS ("0,1": this group's members),
/// DISTINIT_T_GROUPS ("0,1;2,3": all groups, since every rank must call torch's new_group for each
/// of them).
std::vector<Assignment> distinit_family(const RankContext& context);

}  // namespace distinit
