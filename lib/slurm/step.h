// SPDX-License-Identifier: Apache-2.0
#pragma once
// The facts of a step as one of its tasks sees them, read once from an environment snapshot.
// Sources: Slurm src/common/env.c, srun(1) "OUTPUT ENVIRONMENT VARIABLES"; measured on 22.05.8.

#include "lib/base/environment.h"
#include "lib/base/result.h"

#include <string>
#include <vector>

namespace distinit {

/// SLURM_STEP_* first, the short and job-wide names only where the step's are missing.
struct StepFacts {
  std::string job_id;
  std::string step_id;
  int restart_count = 0;            ///< SLURM_RESTART_COUNT, 0 where absent
  int rank = 0;                     ///< SLURM_PROCID
  int local_rank = 0;               ///< SLURM_LOCALID
  int group_rank = 0;               ///< SLURM_NODEID: not an index into `nodes` in a het step
  std::string node_name;            ///< SLURMD_NODENAME
  int world_size = 0;               ///< SLURM_STEP_NUM_TASKS, whole step
  int node_count = 0;               ///< SLURM_STEP_NUM_NODES, whole step
  std::vector<int> node_ranks;      ///< SLURM_GTIDS, ascending: this node's ranks
  std::vector<std::string> nodes;   ///< SLURM_STEP_NODELIST expanded, its order
  std::vector<int> tasks_per_node;  ///< in the order of `nodes`
  std::string distribution;         ///< SLURM_DISTRIBUTION as it stands, empty where absent
  std::string topology_pattern;     ///< SLURM_TOPOLOGY_ADDR_PATTERN; "node" without a topology
  bool het = false;                 ///< the step may span several components
  std::vector<int> reserved_ports;  ///< SLURM_STEP_RESV_PORTS expanded, empty where absent

  bool operator==(const StepFacts&) const = default;
};

/// True where the environment is a step's task: SLURM_STEP_NODELIST and SLURM_PROCID are both
/// there. (A batch script has SLURM_PROCID=0 without being a step.)
bool is_step_task(const Environment& environment);

/// kRendezvous errors name the variable that is missing, unreadable, or in contradiction with
/// another (all values are printed).
Result<StepFacts> read_step_facts(const Environment& environment);

/// Index into `nodes` of the node that must hold rank 0, or -1 where the environment cannot tell:
/// this node when it holds rank 0; else the first of the list, but only for a step that is not
/// heterogeneous, on a cluster without topology order, under a block, cyclic or plane distribution
/// (or none named, which means one of the first two).
int root_node_index(const StepFacts& facts);

}  // namespace distinit
