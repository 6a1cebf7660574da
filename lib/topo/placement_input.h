// SPDX-License-Identifier: Apache-2.0
#pragma once
// What Slurm has granted the tasks of one node, as the placement policy sees it.

#include "lib/base/cpu_set.h"

#include <string>
#include <vector>

namespace distinit {

/// One task. Texts are the variables as Slurm set them; an unset variable is `unset`.
struct TaskGrant {
  int local_rank = 0;
  bool has_cuda = false;  ///< CUDA_VISIBLE_DEVICES is set
  std::string cuda;       ///< integers, GPU-… or MIG-… UUIDs, possibly abbreviated
  std::string rocr;       ///< ROCR_VISIBLE_DEVICES; filters first and renumbers from 0
  bool has_rocr = false;
  std::string hip;  ///< HIP_VISIBLE_DEVICES; indexes what ROCR_VISIBLE_DEVICES left
  bool has_hip = false;
  std::string ze;  ///< ZE_AFFINITY_MASK: device or device.tile
  bool has_ze = false;
  std::string step_gpus;  ///< SLURM_STEP_GPUS: the node's own numbers, also inside a cgroup
  CpuSet cpus;            ///< its affinity mask; empty: unknown

  bool operator==(const TaskGrant&) const = default;
};

/// `bind=` of the SPEC.
struct BindParts {
  bool cpu = true;
  bool gpu = true;
  bool hca = true;
  bool memory = false;

  bool operator==(const BindParts&) const = default;
};

struct PlacementInput {
  std::vector<TaskGrant> tasks;  ///< by local rank
  BindParts bind;
  /// The user gave --cpu-bind: the CPUs stay as they are.
  bool cpus_are_users = false;
  /// CPUs that the job has on this node (SLURM_JOB_CPUS_PER_NODE); -1: unknown.
  int job_cpus = -1;
  /// SLURM_GPUS_ON_NODE: GPUs of the step on this node; -1: unknown.
  int gpus_on_node = -1;
  /// HCAs ("mlx5_2") or ports ("mlx5_2:1") that the site or the user leaves out.
  std::vector<std::string> skipped_hcas;

  bool operator==(const PlacementInput&) const = default;
};

}  // namespace distinit
