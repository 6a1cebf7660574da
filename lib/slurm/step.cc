// SPDX-License-Identifier: Apache-2.0
#include "lib/slurm/step.h"

#include "lib/base/text.h"
#include "lib/slurm/counts.h"
#include "lib/slurm/hostlist.h"

#include <algorithm>
#include <initializer_list>
#include <numeric>

namespace distinit {

namespace {

constexpr std::string_view kNotOurStep = "start the program with srun, inside a step";
constexpr std::string_view kStale =
    "one of them was not set by this step's srun: see which script exports it";

/// Reads single variables; the first name of each list is the step's own, the others fall-backs.
class StepReader {
 public:
  using Names = std::initializer_list<std::string_view>;

  explicit StepReader(const Environment& environment) : environment_(environment) {}

  Result<std::string> text(Names names) const {
    for (const std::string_view name : names) {
      const auto value = environment_.get(name);
      if (value && !value->empty()) {
        return std::string(*value);
      }
    }
    return Error{ErrorCode::kRendezvous, concat(*names.begin(), " is not set"),
                 std::string(kNotOurStep), 0};
  }

  Result<int> number(Names names, int low) const {
    DISTINIT_ASSIGN_OR_RETURN(const std::string value, text(names));
    const auto number = parse_number(value, low, kMostTasks);
    if (!number) {
      return Error{ErrorCode::kRendezvous,
                   concat(*names.begin(), " is '", abbreviate(value), "', not a number from ", low),
                   std::string(kStale), 0};
    }
    return static_cast<int>(*number);
  }

 private:
  const Environment& environment_;
};

/// A list's own error as one about the variable that holds it.
Error about(std::string_view name, Error error) {
  error.code = ErrorCode::kRendezvous;
  return with_context(std::move(error), name);
}

Error contradiction(std::string what) {
  return Error{ErrorCode::kRendezvous, std::move(what), std::string(kStale), 0};
}

std::string raw(const Environment& environment, std::string_view name) {
  return concat(name, "=", abbreviate(environment.get_or(name, "(not set)")));
}

/// Slurm gives every task of a job with several components these, also in a step on one of them
/// alone, whose own variables then look like any other step's.
bool in_het_job(const Environment& environment) {
  for (const std::string_view name : {"SLURM_HET_SIZE", "SLURM_PACK_SIZE"}) {
    const auto size = environment.get(name);
    if (size && parse_number(*size, 0, 1) == std::nullopt) {
      return true;
    }
  }
  return false;
}

int index_of_node(const StepFacts& facts) {
  const auto found = std::find(facts.nodes.begin(), facts.nodes.end(), facts.node_name);
  return found == facts.nodes.end() ? -1 : static_cast<int>(found - facts.nodes.begin());
}

Status read_nodes(const Environment& environment, const StepReader& read, StepFacts& facts) {
  DISTINIT_ASSIGN_OR_RETURN(
      const std::string list,
      read.text({"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}));
  auto nodes = expand_hostlist(list);
  if (!nodes) {
    return about("SLURM_STEP_NODELIST", std::move(nodes).error());
  }
  DISTINIT_ASSIGN_OR_RETURN(const std::string counts_text,
                            read.text({"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}));
  auto counts = expand_counts(counts_text);
  if (!counts) {
    return about("SLURM_STEP_TASKS_PER_NODE", std::move(counts).error());
  }
  facts.nodes = std::move(*nodes);
  facts.tasks_per_node = std::move(*counts);
  const int sum = std::accumulate(facts.tasks_per_node.begin(), facts.tasks_per_node.end(), 0);
  if (facts.nodes.size() != facts.tasks_per_node.size() || sum != facts.world_size ||
      static_cast<int>(facts.nodes.size()) != facts.node_count) {
    return contradiction(concat(
        facts.nodes.size(), " nodes (", raw(environment, "SLURM_STEP_NODELIST"), ", ",
        raw(environment, "SLURM_STEP_NUM_NODES"), "), ", facts.tasks_per_node.size(),
        " task counts with the sum ", sum, " (", raw(environment, "SLURM_STEP_TASKS_PER_NODE"),
        ") and ", raw(environment, "SLURM_STEP_NUM_TASKS"), " contradict each other"));
  }
  return Ok{};
}

/// Without SLURM_GTIDS: all ranks on the only node, or the one that this is.
std::vector<int> derived_node_ranks(const StepFacts& facts, int tasks_here) {
  if (facts.node_count == 1) {
    std::vector<int> ranks(static_cast<size_t>(facts.world_size));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
  }
  if (tasks_here == 1) {
    return {facts.rank};
  }
  // Under block, ranks are numbered node by node and the local rank counts up with them.
  if (!facts.het && facts.distribution.starts_with("block")) {
    std::vector<int> ranks(static_cast<size_t>(tasks_here));
    std::iota(ranks.begin(), ranks.end(), facts.rank - facts.local_rank);
    return ranks;
  }
  return {};
}

Status read_node_ranks(const Environment& environment, StepFacts& facts) {
  const int index = index_of_node(facts);
  if (index < 0) {
    return contradiction(concat("SLURMD_NODENAME=", abbreviate(facts.node_name),
                                " is not a node of ", raw(environment, "SLURM_STEP_NODELIST")));
  }
  const int tasks_here = facts.tasks_per_node[static_cast<size_t>(index)];
  const std::string text = environment.get_or("SLURM_GTIDS", "");
  if (text.empty()) {
    facts.node_ranks = derived_node_ranks(facts, tasks_here);
    if (facts.node_ranks.empty()) {
      return Error{ErrorCode::kRendezvous,
                   concat("SLURM_GTIDS is not set, and the ranks on this node do not follow from ",
                          raw(environment, "SLURM_DISTRIBUTION")),
                   "a TaskProlog or the environment must not remove SLURM_GTIDS", 0};
    }
  } else {
    for (const std::string_view piece : split(text, ',')) {
      const auto rank = parse_number(piece, 0, facts.world_size - 1);
      if (!rank) {
        return contradiction(concat("SLURM_GTIDS=", abbreviate(text), ": '", abbreviate(piece),
                                    "' is not a rank of ", facts.world_size));
      }
      facts.node_ranks.push_back(static_cast<int>(*rank));
    }
    std::sort(facts.node_ranks.begin(), facts.node_ranks.end());
  }
  const auto& ranks = facts.node_ranks;
  const auto local = static_cast<size_t>(facts.local_rank);
  if (static_cast<int>(ranks.size()) != tasks_here || local >= ranks.size() ||
      ranks[local] != facts.rank || ranks.front() < 0 || ranks.back() >= facts.world_size ||
      std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end()) {
    return contradiction(concat(
        raw(environment, "SLURM_GTIDS"), ", SLURM_PROCID=", facts.rank,
        ", SLURM_LOCALID=", facts.local_rank, " and ", tasks_here, " tasks on ", facts.node_name,
        " (", raw(environment, "SLURM_STEP_TASKS_PER_NODE"), ") contradict each other"));
  }
  return Ok{};
}

}  // namespace

bool is_step_task(const Environment& environment) {
  return environment.has("SLURM_STEP_NODELIST") && environment.has("SLURM_PROCID");
}

Result<StepFacts> read_step_facts(const Environment& environment) {
  const StepReader read(environment);
  StepFacts facts;
  DISTINIT_ASSIGN_OR_RETURN(facts.job_id, read.text({"SLURM_JOB_ID", "SLURM_JOBID"}));
  DISTINIT_ASSIGN_OR_RETURN(facts.step_id, read.text({"SLURM_STEP_ID", "SLURM_STEPID"}));
  if (environment.has("SLURM_RESTART_COUNT")) {
    DISTINIT_ASSIGN_OR_RETURN(facts.restart_count, read.number({"SLURM_RESTART_COUNT"}, 0));
  }
  DISTINIT_ASSIGN_OR_RETURN(facts.rank, read.number({"SLURM_PROCID"}, 0));
  DISTINIT_ASSIGN_OR_RETURN(facts.local_rank, read.number({"SLURM_LOCALID"}, 0));
  DISTINIT_ASSIGN_OR_RETURN(facts.group_rank, read.number({"SLURM_NODEID"}, 0));
  DISTINIT_ASSIGN_OR_RETURN(facts.node_name, read.text({"SLURMD_NODENAME"}));
  DISTINIT_ASSIGN_OR_RETURN(
      facts.world_size, read.number({"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"}, 1));
  DISTINIT_ASSIGN_OR_RETURN(facts.node_count,
                            read.number({"SLURM_STEP_NUM_NODES", "SLURM_NNODES"}, 1));
  facts.distribution = environment.get_or("SLURM_DISTRIBUTION", "");
  facts.topology_pattern = environment.get_or("SLURM_TOPOLOGY_ADDR_PATTERN", "");
  DISTINIT_RETURN_IF_ERROR(read_nodes(environment, read, facts));
  // Node positions follow the list except in a step over several components.
  facts.het = in_het_job(environment) || index_of_node(facts) != facts.group_rank;
  DISTINIT_RETURN_IF_ERROR(read_node_ranks(environment, facts));
  if (facts.group_rank >= facts.node_count) {
    return contradiction(concat("SLURM_NODEID=", facts.group_rank, " is not a node of ",
                                raw(environment, "SLURM_STEP_NUM_NODES")));
  }
  const std::string ports = environment.get_or("SLURM_STEP_RESV_PORTS", "");
  if (!ports.empty()) {
    auto expanded = expand_ports(ports);
    if (!expanded) {
      return about("SLURM_STEP_RESV_PORTS", std::move(expanded).error());
    }
    facts.reserved_ports = std::move(*expanded);
  }
  return facts;
}

int root_node_index(const StepFacts& facts) {
  if (facts.nodes.size() == 1) {
    return 0;
  }
  if (!facts.node_ranks.empty() && facts.node_ranks.front() == 0) {
    return index_of_node(facts);
  }
  // With a topology plugin, releases from 26.05 on number the ranks in its order, also where
  // SLURM_DISTRIBUTION names the default that srun chose.
  const bool flat = facts.topology_pattern.empty() || facts.topology_pattern == "node";
  if (facts.het || !flat) {
    return -1;
  }
  // Unset where srun made the allocation and was given no distribution: block or cyclic then.
  if (facts.distribution.empty()) {
    return facts.topology_pattern == "node" ? 0 : -1;
  }
  const std::string_view base =
      std::string_view(facts.distribution).substr(0, facts.distribution.find_first_of(":,="));
  return base == "block" || base == "cyclic" || base == "plane" ? 0 : -1;
}

}  // namespace distinit
