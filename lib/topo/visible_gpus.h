// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which GPUs a task sees, in the order in which its program counts them, from the variables that
// Slurm or the user has set.

#include "lib/base/finding.h"
#include "lib/topo/machine.h"
#include "lib/topo/placement_input.h"

#include <vector>

namespace distinit {

/// An entry that names a device which can't be told apart without the vendor's library (a MIG
/// UUID).
constexpr int kUnknownGpu = -1;

struct VisibleGpus {
  std::vector<int>
      gpus;  ///< into Machine::gpus, or kUnknownGpu; the position is the program's number
  std::vector<Finding> findings;

  bool operator==(const VisibleGpus&) const = default;
};

/// NVIDIA: CUDA_VISIBLE_DEVICES, integers by bus order or UUIDs; inside a device cgroup integers
/// count what SLURM_STEP_GPUS allows. AMD: ROCR_VISIBLE_DEVICES first, then HIP_ or
/// CUDA_VISIBLE_DEVICES count what it left. Intel: ZE_AFFINITY_MASK. None set: all of the node. An
/// entry that names nothing ends the list, as it does for the vendors' libraries, with a finding
/// that names variable and value.
VisibleGpus visible_gpus(const Machine& machine, const TaskGrant& task);

}  // namespace distinit
