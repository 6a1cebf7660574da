// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plan as JSON. The shape is fixed: other programs read it.

#include "helper/plan.h"

#include <string>

namespace distinit {

/// One document, a line for each node, group and rank, ending in a newline:
/// {"spec", "world_size", "dims":[{"name","size"}], "nodes":[{"name","group_rank","ranks":[…]}],
/// "groups":[{"dim","index","ranks":[…]}], "ranks":[{"rank","local_rank","node","coords":{…}}]}.
/// Groups are ordered by type (dimensions, `groups=`, expert grid), then index.
std::string format_plan_json(const Plan& plan);

}  // namespace distinit
