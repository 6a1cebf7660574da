// SPDX-License-Identifier: Apache-2.0
#pragma once
// How many CPUs the job has on this node, by which a task's whole mask is told from a part of it.

#include "lib/base/environment.h"

#include <optional>

namespace distinit {

/// SLURM_JOB_CPUS_PER_NODE's entry for SLURMD_NODENAME, in the order of SLURM_JOB_NODELIST (also in
/// a het job: measured on 22.05.8). nullopt where a variable is missing or unreadable, the two
/// lists differ in length, or the node is not on the list.
std::optional<int> job_cpus_on_node(const Environment& environment);

}  // namespace distinit
