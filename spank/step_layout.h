// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where rank 0 runs, as the controller knows it. Asked once for a step, in srun, through libslurm
// functions that are looked up at run time: where they are missing the agents find out themselves.

#include <string>

#include <stdint.h>

namespace distinit {

/// Both empty where it could not be told.
struct RootNode {
  std::string name;     ///< NodeName
  std::string address;  ///< NodeAddr: a name or an address, reachable for Slurm
};

/// For a het step, `job` is the leader's. Never an error; two short calls of the controller.
RootNode find_root_node(uint32_t job, uint32_t step);

}  // namespace distinit
