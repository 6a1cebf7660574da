// SPDX-License-Identifier: Apache-2.0
#pragma once
// Slurm's two compressed number lists: counts per node, "2(x3),1", and port ranges, "12000-12002".
// Source: Slurm src/common/env.c (SLURM_TASKS_PER_NODE), src/common/port_mgr.c.

#include "lib/base/result.h"

#include <string_view>
#include <vector>

namespace distinit {

/// Limits of expand_counts: entries, and all counts together.
constexpr long long kMostNodes = 1 << 20;
constexpr long long kMostTasks = 1 << 24;

/// One count a node: "2(x3),1" is 2,2,2,1. Counts are at least 1 and their sum is at most
/// kMostTasks. kUsage errors name the entry.
Result<std::vector<int>> expand_counts(std::string_view text);

/// Single ports and ranges, both ends included, in the order written: "32305-32306,32310". Ports
/// are 1 to 65535, and at most 65535 of them. kUsage errors name the entry.
Result<std::vector<int>> expand_ports(std::string_view text);

}  // namespace distinit
