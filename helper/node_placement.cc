// SPDX-License-Identifier: Apache-2.0
#include "helper/node_placement.h"

#include "lib/base/text.h"
#include "lib/slurm/job_cpus.h"

#include <algorithm>
#include <optional>

#include <limits.h>

namespace distinit {

namespace {

const TaskPlan* find_task(const NodePlacement& placement, int local_rank) {
  for (const TaskPlan& task : placement.plan.tasks) {
    if (task.local_rank == local_rank) {
      return &task;
    }
  }
  return nullptr;
}

/// Whether the variable is set, and its value.
bool take(const Environment& environment, std::string_view name, std::string& into) {
  into = environment.get_or(name, "");
  return environment.has(name);
}

TaskGrant read_grant(const Hello& hello, pid_t pid) {
  const Environment own(hello.environment);
  TaskGrant grant;
  grant.local_rank = hello.local_rank;
  grant.has_cuda = take(own, "CUDA_VISIBLE_DEVICES", grant.cuda);
  grant.has_rocr = take(own, "ROCR_VISIBLE_DEVICES", grant.rocr);
  grant.has_hip = take(own, "HIP_VISIBLE_DEVICES", grant.hip);
  grant.has_ze = take(own, "ZE_AFFINITY_MASK", grant.ze);
  grant.step_gpus = own.get_or("SLURM_STEP_GPUS", "");
  grant.cpus = process_cpus(pid).value_or(CpuSet());
  return grant;
}

/// Slurm's own choice is a mask of CPUs; whatever else it says, the user said first.
bool has_users_cpu_bind(const Environment& environment) {
  const std::string type = environment.get_or("SLURM_CPU_BIND_TYPE", "");
  return environment.get_or(kCpuBindVariable, "") == kCpuBindUser ||
         (!type.empty() && !type.starts_with("mask_cpu"));
}

bool shares_cpus(const NodePlan& plan, const TaskPlan& task) {
  return std::any_of(plan.tasks.begin(), plan.tasks.end(), [&task](const TaskPlan& other) {
    return other.local_rank != task.local_rank && other.cpus.intersects(task.cpus);
  });
}

std::string list_ports(const Machine& machine, const std::vector<int>& hcas) {
  std::vector<std::string> names;
  for (const int hca : hcas) {
    names.push_back(port_name(machine.hcas[static_cast<size_t>(hca)]));
  }
  return join(names, ",");
}

std::string list_gpus(const Machine& machine, const std::vector<int>& gpus) {
  std::vector<std::string> names;
  for (const int gpu : gpus) {
    names.push_back(format_pci_address(machine.gpus[static_cast<size_t>(gpu)].pci));
  }
  return join(names, ",");
}

std::string list_numbers(const std::vector<int>& numbers) {
  std::vector<std::string> texts;
  for (const int number : numbers) {
    texts.push_back(concat(number));
  }
  return join(texts, ",");
}

}  // namespace

std::string topology_file(const AgentSetup& setup) {
  std::string path =
      setup.task_environment.get_or("DISTINIT_TOPOLOGY", setup.rendezvous.options.topology);
  const size_t at = path.find("%n");
  return at == std::string::npos ? path : path.replace(at, 2, setup.rendezvous.facts.node_name);
}

bool wants_placement(const AgentSetup& setup) {
  const BindOption& bind = setup.rendezvous.options.bind;
  return bind.cpu || bind.gpu || bind.hca || bind.memory;
}

PlacementInput placement_input(const AgentSetup& setup, const std::map<int, Hello>& hellos,
                               const std::map<int, pid_t>& pids) {
  const Options& options = setup.rendezvous.options;
  const Environment& environment = setup.task_environment;
  PlacementInput input;
  for (const auto& [rank, hello] : hellos) {
    const auto pid = pids.find(rank);
    input.tasks.push_back(read_grant(hello, pid == pids.end() ? -1 : pid->second));
  }
  std::sort(input.tasks.begin(), input.tasks.end(),
            [](const auto& a, const auto& b) { return a.local_rank < b.local_rank; });
  input.bind = BindParts{options.bind.cpu, options.bind.gpu, options.bind.hca, options.bind.memory};
  input.cpus_are_users = has_users_cpu_bind(environment);
  input.job_cpus = job_cpus_on_node(environment).value_or(-1);
  input.gpus_on_node = static_cast<int>(
      parse_number(environment.get_or("SLURM_GPUS_ON_NODE", ""), 0, INT_MAX).value_or(-1));
  input.skipped_hcas = options.skipped_hcas;
  return input;
}

NodeReport report_node(const AgentSetup& setup, const NodePlacement& placement) {
  NodeReport report;
  report.node = setup.rendezvous.facts.node_name;
  report.knows_fabric = setup.rendezvous.options.bind.hca;
  report.fabric = join(usable_port_names(placement.machine, placement.plan.ports), ",");
  report.findings = placement.findings;
  report.findings.insert(report.findings.end(), placement.plan.findings.begin(),
                         placement.plan.findings.end());
  return report;
}

void add_placement(const NodePlacement& placement, RankContext& context) {
  const TaskPlan* task = find_task(placement, context.local_rank);
  if (task == nullptr) {
    return;
  }
  const Machine& machine = placement.machine;
  if (context.options.bind.gpu) {
    context.gpus = list_numbers(task->ordinals);
    context.gpu_pci = list_gpus(machine, task->gpus);
  }
  if (context.options.bind.hca) {
    context.hcas = list_ports(machine, task->hcas);
    context.nccl_ib_hca = placement.plan.ib_hca;
    context.ucx_net_devices = ucx_net_devices(machine, *task);
  }
  context.cpus = task->cpus.format();
  // CPUs that several tasks have would be counted several times.
  if (!shares_cpus(placement.plan, *task)) {
    context.omp_threads = core_count(machine, task->cpus);
  }
}

void add_placement(const NodePlacement& placement, int local_rank, Go& go) {
  const TaskPlan* task = find_task(placement, local_rank);
  if (task == nullptr) {
    return;
  }
  if (task->binds_cpus) {
    go.cpus = task->cpus.format();
  }
  go.memory_node = task->memory_node;
}

std::string describe_machine(const Machine& machine) {
  return concat(machine.gpus.size(), " GPUs, ", machine.hcas.size(), " HCA ports, ",
                machine.cpus.count(), " CPUs (", machine.source, ")");
}

std::string describe_task(const NodePlacement& placement, int local_rank, int rank) {
  const TaskPlan* task = find_task(placement, local_rank);
  if (task == nullptr) {
    return concat("rank ", rank, ": not placed");
  }
  const auto or_none = [](std::string text) { return text.empty() ? std::string("none") : text; };
  return concat(
      "rank ", rank, ": GPU ", or_none(list_numbers(task->gpus)),
      task->gpus.empty() ? "" : concat(" (", list_gpus(placement.machine, task->gpus), ")"),
      ", HCA ", or_none(list_ports(placement.machine, task->hcas)), ", CPUs ",
      or_none(task->cpus.format()),
      task->binds_cpus ? std::string() : concat(" (not bound: ", placement.plan.unbound_why, ")"));
}

}  // namespace distinit
