// SPDX-License-Identifier: Apache-2.0
#include "lib/base/text.h"
#include "lib/topo/placement.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace distinit {

namespace {

int first_package(const Machine& machine, const CpuSet& cpus) {
  for (size_t i = 0; i < machine.packages.size(); ++i) {
    if (machine.packages[i].cpus.intersects(cpus)) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

int first_numa(const Machine& machine, const CpuSet& cpus) {
  for (size_t i = 0; i < machine.numa.size(); ++i) {
    if (machine.numa[i].cpus.intersects(cpus)) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

/// Cores inside the mask, each with its threads there, neighbours next to each other. CPUs that the
/// machine does not know (another node's file) count as cores of their own.
std::vector<CpuSet> cores_inside(const Machine& machine, const CpuSet& mask) {
  std::vector<CpuSet> cores;
  CpuSet rest = mask;
  for (const CpuSet& core : machine.cores) {
    const CpuSet inside = core & rest;
    if (!inside.is_empty()) {
      cores.push_back(inside);
      rest = rest - inside;
    }
  }
  for (const int cpu : rest.members()) {
    cores.push_back(CpuSet::range(cpu, cpu));
  }
  const auto place = [&machine](const CpuSet& core) {
    return std::tuple(first_package(machine, core), first_numa(machine, core), core.first());
  };
  std::sort(cores.begin(), cores.end(),
            [&place](const CpuSet& a, const CpuSet& b) { return place(a) < place(b); });
  return cores;
}

/// Where each task's GPUs are near to.
CpuSet near_cpus(const Machine& machine, const TaskPlan& task) {
  CpuSet near;
  for (const int gpu : task.gpus) {
    near = near | locality_of(machine, machine.gpus[static_cast<size_t>(gpu)].pci_node).cpus;
  }
  return near;
}

/// Tasks with the same cores to choose from.
struct Group {
  std::vector<size_t> tasks;  ///< into NodePlan::tasks, ascending
  std::vector<size_t> cores;  ///< that they may have, in order
  std::vector<size_t> gets;   ///< that they have got together
};

/// Each next core goes to the group that has the fewest for each of its tasks, and there the one
/// that the fewest groups want: so that nested localities (a package's, one of its NUMA nodes')
/// both get theirs.
void deal_cores(std::vector<Group>& groups, size_t core_count) {
  std::vector<int> wanted(core_count, 0);
  std::vector<bool> taken(core_count, false);
  for (const Group& group : groups) {
    for (const size_t core : group.cores) {
      ++wanted[core];
    }
  }
  while (true) {
    Group* poorest = nullptr;
    std::tuple<size_t, size_t> least;
    for (Group& group : groups) {
      const bool can_take = std::any_of(group.cores.begin(), group.cores.end(),
                                        [&](size_t core) { return !taken[core]; });
      // Whole rounds, so that the tasks of a group stay equal as long as they can.
      const std::tuple state(group.gets.size() / group.tasks.size(), group.cores.size());
      if (can_take && (poorest == nullptr || state < least)) {
        poorest = &group;
        least = state;
      }
    }
    if (poorest == nullptr) {
      return;
    }
    size_t best = core_count;
    for (const size_t core : poorest->cores) {
      if (!taken[core] && (best == core_count || wanted[core] < wanted[best])) {
        best = core;
      }
    }
    taken[best] = true;
    poorest->gets.push_back(best);
  }
}

/// The k-th of n tasks gets a run of its group's cores; with fewer cores than tasks they share.
void split_group(const Group& group, const std::vector<CpuSet>& cores, NodePlan& plan) {
  std::vector<size_t> own = group.gets.empty() ? group.cores : group.gets;
  std::sort(own.begin(), own.end());
  const size_t count = group.tasks.size();
  for (size_t k = 0; k < count; ++k) {
    TaskPlan& task = plan.tasks[group.tasks[k]];
    task.binds_cpus = true;
    if (own.size() < count) {
      task.cpus = cores[own[k % own.size()]];
      continue;
    }
    task.cpus = CpuSet();
    for (size_t i = k * own.size() / count; i < (k + 1) * own.size() / count; ++i) {
      task.cpus = task.cpus | cores[own[i]];
    }
  }
  if (own.size() < count) {
    plan.remarks.push_back(
        Finding{concat(count, " ranks share ", own.size(), own.size() == 1 ? " core" : " cores"),
                "ask for more with --cpus-per-task"});
  }
}

/// Why the masks stay as they are; empty: they may be narrowed.
std::string reason_to_leave(const Machine& machine, const PlacementInput& input,
                            std::vector<Finding>& remarks) {
  const CpuSet& mask = input.tasks.front().cpus;
  if (!input.bind.cpu) {
    return "bind= leaves the CPUs out";
  }
  if (input.cpus_are_users) {
    return "the user gave --cpu-bind";
  }
  if (mask.is_empty()) {
    return "the tasks' masks are not known";
  }
  if (!std::all_of(input.tasks.begin(), input.tasks.end(),
                   [&mask](const TaskGrant& task) { return task.cpus == mask; })) {
    return "the tasks are bound already";
  }
  if (input.job_cpus > mask.count()) {
    return "the tasks are bound to a part of the job's CPUs";
  }
  const int cores = core_count(machine, mask);
  if (input.job_cpus >= 0 && input.job_cpus < cores) {
    remarks.push_back(Finding{
        concat("CPUs are not bound: the job has ", input.job_cpus, " of the ", mask.count(),
               " CPUs that its tasks may run on"),
        "other jobs may have the rest: --exclusive, or TaskPlugin=task/cgroup,task/affinity in "
        "slurm.conf"});
    return "the node may be shared";
  }
  return "";
}

/// One line for a node, with the first such rank as its example: NCCL says nothing about it.
void warn_of_far_masks(const Machine& machine, const PlacementInput& input, NodePlan& plan) {
  for (size_t i = 0; i < plan.tasks.size(); ++i) {
    const CpuSet near = near_cpus(machine, plan.tasks[i]);
    const CpuSet& mask = input.tasks[i].cpus;
    if (!near.is_empty() && !mask.is_empty() && !near.intersects(mask)) {
      plan.findings.push_back(
          Finding{concat("local rank ", plan.tasks[i].local_rank, "'s GPU is near CPUs ",
                         abbreviate(near.format()), ", and it may run on ",
                         abbreviate(mask.format()), " alone"),
                  "ask for CPUs near the GPUs: --exclusive, more --cpus-per-task, another "
                  "--cpu-bind, or Cores= in gres.conf"});
      return;
    }
  }
}

void share_cpus(const Machine& machine, const CpuSet& mask, NodePlan& plan) {
  const std::vector<CpuSet> cores = cores_inside(machine, mask);
  std::map<std::vector<size_t>, Group> by_cores;
  for (size_t i = 0; i < plan.tasks.size(); ++i) {
    const CpuSet near = near_cpus(machine, plan.tasks[i]) & mask;
    const CpuSet& wanted = near.is_empty() ? mask : near;
    std::vector<size_t> eligible;
    for (size_t core = 0; core < cores.size(); ++core) {
      if (cores[core].intersects(wanted)) {
        eligible.push_back(core);
      }
    }
    Group& group = by_cores[eligible];
    group.cores = eligible;
    group.tasks.push_back(i);
  }
  std::vector<Group> groups;
  for (auto& [eligible, group] : by_cores) {
    groups.push_back(std::move(group));
  }
  deal_cores(groups, cores.size());
  for (const Group& group : groups) {
    split_group(group, cores, plan);
  }
}

int memory_node(const Machine& machine, const TaskPlan& task) {
  for (const int gpu : task.gpus) {
    const Locality near = locality_of(machine, machine.gpus[static_cast<size_t>(gpu)].pci_node);
    for (const NumaNode& node : machine.numa) {
      const bool is_near =
          std::find(near.numa.begin(), near.numa.end(), node.number) != near.numa.end();
      if (is_near && !node.cpus.is_empty()) {
        return node.number;
      }
    }
  }
  return -1;
}

}  // namespace

int core_count(const Machine& machine, const CpuSet& cpus) {
  return static_cast<int>(cores_inside(machine, cpus).size());
}

void plan_cpus(const Machine& machine, const PlacementInput& input, NodePlan& plan) {
  if (input.tasks.empty()) {
    return;
  }
  for (size_t i = 0; i < plan.tasks.size(); ++i) {
    plan.tasks[i].cpus = input.tasks[i].cpus;
    if (input.bind.memory) {
      plan.tasks[i].memory_node = memory_node(machine, plan.tasks[i]);
    }
  }
  if (input.bind.cpu) {
    warn_of_far_masks(machine, input, plan);
  }
  plan.unbound_why = reason_to_leave(machine, input, plan.remarks);
  if (plan.unbound_why.empty()) {
    share_cpus(machine, input.tasks.front().cpus, plan);
  }
}

}  // namespace distinit
