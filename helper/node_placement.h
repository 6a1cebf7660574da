// SPDX-License-Identifier: Apache-2.0
#pragma once
// From what the tasks have said and the SPEC to the placement policy, and from its plan to what
// each rank is told.

#include "helper/agent_setup.h"
#include "lib/env/rank_context.h"
#include "lib/rendezvous/node_report.h"
#include "lib/spec/protocol.h"
#include "lib/topo/placement.h"

#include <map>
#include <string>

#include <sys/types.h>

namespace distinit {

/// The file that stands in for the node, "%n" replaced by its name: DISTINIT_TOPOLOGY of the user,
/// else topology= of the SPEC; empty for the node itself.
std::string topology_file(const AgentSetup& setup);

/// False where nothing of it is wanted (bind=none): then the topology need not be read.
bool wants_placement(const AgentSetup& setup);

/// `hellos` and `pids` by rank. Reads the affinity masks of the tasks' processes.
PlacementInput placement_input(const AgentSetup& setup, const std::map<int, Hello>& hellos,
                               const std::map<int, pid_t>& pids);

/// One node's machine and plan.
struct NodePlacement {
  Machine machine;
  NodePlan plan;
  std::vector<Finding> findings;  ///< of the discovery
};

/// What the root is told.
NodeReport report_node(const AgentSetup& setup, const NodePlacement& placement);

/// Fills the rank's GPUs, HCAs, CPUs and the node's HCA filter, as far as bind= wants them.
void add_placement(const NodePlacement& placement, RankContext& context);
void add_placement(const NodePlacement& placement, int local_rank, Go& go);

/// "8 GPUs, 10 HCA ports, 256 CPUs (this node)"
std::string describe_machine(const Machine& machine);
/// "rank 3: GPU 1 (0000:4e:00.0), HCA mlx5_1:1, CPUs 16-31"
std::string describe_task(const NodePlacement& placement, int local_rank, int rank);

}  // namespace distinit
