// SPDX-License-Identifier: Apache-2.0
#pragma once
// Everything that a family of variables needs to know about one rank. Plain values, filled by the
// agent.

#include "lib/spec/mesh.h"
#include "lib/spec/spec.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

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

  // The rank's place on its node; empty where it is not known or not to be said.
  std::string gpus;             ///< as cudaSetDevice counts them: "0", "0,1"
  std::string gpu_pci;          ///< their PCI addresses, in the same order
  std::string hcas;             ///< its ports: "mlx5_0:1,mlx5_3:1"
  std::string cpus;             ///< what it runs on, as a list: "0-15"
  std::string nccl_ib_hca;      ///< the node's: "=mlx5_0:1,mlx5_3:1"
  std::string ucx_net_devices;  ///< the rank's: "mlx5_0:1"
  int omp_threads = 0;          ///< cores of its share; 0: as torchrun
  /// Site's and user's nccl.*: {"IB_SL", "3"}.
  std::vector<std::pair<std::string, std::string>> nccl_settings;
  /// Variables that NCCL reads from its own files when they are not set.
  std::set<std::string> nccl_conf;
};

}  // namespace distinit
