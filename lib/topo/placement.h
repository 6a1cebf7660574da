// SPDX-License-Identifier: Apache-2.0
#pragma once
// The plan of one node: which GPUs, HCAs and CPUs each of its tasks gets. Pure functions.

#include "lib/base/finding.h"
#include "lib/topo/distance.h"
#include "lib/topo/machine.h"
#include "lib/topo/placement_input.h"

#include <string>
#include <vector>

namespace distinit {

/// Whether a port belongs to the fabric that the job uses.
struct PortVerdict {
  bool usable = false;
  std::string why;  ///< of a port that is not: "port is down", "virtual function of 0000:…", …

  bool operator==(const PortVerdict&) const = default;
};

/// Why a RoCE port is not usable of which only link-local GIDs are known.
constexpr std::string_view kNoRoutableGid = "no routable GID: its interface has no address";

/// hca_filter.cc. One verdict for each of machine.hcas. In this order: not active; on the list of
/// skipped ones; a virtual function whose physical function is there too (unless there are only
/// such); no PCI device; not listed by libibverbs; another link layer than the fabric's (InfiniBand
/// where a port of it is left, else Slingshot, else Ethernet); slower than most of the fabric's
/// ports; no routable GID (RoCE).
std::vector<PortVerdict> judge_ports(const Machine& machine,
                                     const std::vector<std::string>& skipped);

/// hca_filter.cc. The usable ports' names, "mlx5_2:1" before "mlx5_10:1": nodes with the same HCAs
/// give the same list, whatever their buses are.
std::vector<std::string> usable_port_names(const Machine& machine,
                                           const std::vector<PortVerdict>& verdicts);

/// hca_filter.cc. "=mlx5_0:1,mlx5_1:1", the same for all ranks of a node (NCCL breaks on others);
/// by name and number so that nodes with the same HCAs give the same text. Empty where no verbs
/// port is usable.
std::string nccl_ib_hca(const Machine& machine, const std::vector<PortVerdict>& verdicts);

/// gid_choice.cc. The GID that NCCL will use on a RoCE port (NVIDIA/nccl src/transport/net_ib.cc,
/// ncclUpdateGidIndex, since 2.21): nullopt where none routes (link-local ones do not).
std::optional<Gid> routable_gid(const Hca& hca);

/// What one task gets.
struct TaskPlan {
  int local_rank = 0;
  std::vector<int> gpus;  ///< indexes into Machine::gpus
  std::vector<int>
      ordinals;             ///< the same as the program counts: positions in what is visible to it
  std::vector<int> hcas;    ///< indexes into Machine::hcas: one rail for each of its GPUs
  CpuSet cpus;              ///< to bind to, or what it has already
  bool binds_cpus = false;  ///< false: the mask stays as it is
  int memory_node = -1;     ///< NUMA node to prefer memory of; -1: none asked for or known

  bool operator==(const TaskPlan&) const = default;
};

struct NodePlan {
  std::vector<TaskPlan> tasks;            ///< by local rank
  std::vector<PortVerdict> ports;         ///< by Machine::hcas
  std::vector<std::vector<int>> nearest;  ///< by Machine::gpus: its nearest ports that are up
  PathMatrix matrix;
  std::string ib_hca;             ///< NCCL_IB_HCA's value; empty: leave it
  std::string unbound_why;        ///< why no task's CPUs are bound; empty where they are
  std::vector<Finding> findings;  ///< what costs speed or fails later
  std::vector<Finding> remarks;   ///< for `topo`, `doctor` and DISTINIT_LOG=info alone

  bool operator==(const NodePlan&) const = default;
};

/// gpu_plan.cc. GPUs to local ranks: n = visible / tasks each, rank i the ones from i*n on; fewer
/// GPUs than tasks are shared in turn. Where Slurm isolated them, each task's own list counts from
/// 0. Fills gpus and ordinals.
void plan_gpus(const Machine& machine, const PlacementInput& input, NodePlan& plan);

/// cpu_plan.cc. Nothing is bound where somebody has done so: masks that differ between tasks, or
/// are less than the job's CPUs, or the user's --cpu-bind. Else whole cores near each task's GPU,
/// inside its mask, disjoint where there are enough, never empty. Fills cpus, binds_cpus and
/// memory_node.
void plan_cpus(const Machine& machine, const PlacementInput& input, NodePlan& plan);

/// placement.cc. All of it.
NodePlan plan_node(const Machine& machine, const PlacementInput& input);

/// UCX_NET_DEVICES of a task: "mlx5_0:1,mlx5_3:1"; empty where it has no verbs port.
std::string ucx_net_devices(const Machine& machine, const TaskPlan& task);

/// Cores (not hardware threads) that the CPUs belong to.
int core_count(const Machine& machine, const CpuSet& cpus);

}  // namespace distinit
