// SPDX-License-Identifier: Apache-2.0
#pragma once
// What UCX takes from the environment.

#include "lib/env/assignment.h"
#include "lib/env/rank_context.h"

namespace distinit {

/// UCX_NET_DEVICES, the rank's own rails, where they are known. Unlike NCCL, UCX may be given
/// others in each rank of a node.
std::vector<Assignment> ucx_family(const RankContext& context);

}  // namespace distinit
