// SPDX-License-Identifier: Apache-2.0
#pragma once
// Everything that a family of variables needs to know about one rank. Plain values, filled by the
// agent.

#include "lib/spec/mesh.h"
#include "lib/spec/spec.h"

#include <string>

namespace distinit {

struct RankContext {
  std::string job_id;
  std::string step_id;
  int restart_count = 0;
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_world_size = 1;  ///< tasks on this node; differs between uneven nodes
  int group_rank = 0;        ///< the node's position in the step
  int group_world_size = 1;  ///< nodes of the step
  std::string node;
  std::string master_addr;  ///< one text for the whole step
  int master_port = 0;
  std::string interface;   ///< this node's, towards master_addr; empty where it is not known
  std::string store_addr;  ///< our store; the same endpoint unless torch.store=rank0
  int store_port = 0;
  const Mesh* mesh = nullptr;
  const Spec* spec = nullptr;
  Options options;
};

}  // namespace distinit
