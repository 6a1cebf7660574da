// SPDX-License-Identifier: Apache-2.0
#pragma once
// What NCCL takes from the environment: one HCA filter for the node, the interface of the sockets,
// and the settings that the site or the user gave as nccl.NAME=VALUE.

#include "lib/env/assignment.h"
#include "lib/env/rank_context.h"

namespace distinit {

/// NCCL_NAME for every nccl.NAME; NCCL_IB_HCA where the node's filter is known; NCCL_SOCKET_IFNAME
/// ("=eth0") where the step has several nodes and the interface between them is known and no
/// loopback. The latter two only where neither an nccl.NAME nor one of NCCL's own files sets them.
/// A user's variable wins over all of it.
std::vector<Assignment> nccl_family(const RankContext& context);

}  // namespace distinit
