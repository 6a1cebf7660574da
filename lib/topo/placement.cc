// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/placement.h"

#include "lib/base/text.h"

#include <algorithm>
#include <numeric>

namespace distinit {

namespace {

/// NVIDIA/nccl src/transport/net_ib.cc, MAX_IB_DEVS.
constexpr int kMostNcclDevices = 32;

/// Ports that count for `nearest`: what the machine is, not what the job wants.
std::vector<int> ports_that_are_up(const Machine& machine) {
  std::vector<int> up;
  for (size_t i = 0; i < machine.hcas.size(); ++i) {
    const Hca& hca = machine.hcas[i];
    const bool is_up = hca.state == PortState::kActive || hca.state == PortState::kUnknown;
    if (is_up && !hca.is_virtual) {
      up.push_back(static_cast<int>(i));
    }
  }
  return up;
}

std::vector<int> usable_ports(const NodePlan& plan) {
  std::vector<int> usable;
  for (size_t i = 0; i < plan.ports.size(); ++i) {
    if (plan.ports[i].usable) {
      usable.push_back(static_cast<int>(i));
    }
  }
  return usable;
}

std::vector<int> by_bus(const Machine& machine) {
  std::vector<int> order(machine.gpus.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&machine](int a, int b) {
    return machine.gpus[static_cast<size_t>(a)].pci < machine.gpus[static_cast<size_t>(b)].pci;
  });
  return order;
}

/// One rail for each GPU that some task has: the others' would be wasted.
void deal_hcas(const Machine& machine, NodePlan& plan) {
  std::vector<int> used;
  for (const int gpu : by_bus(machine)) {
    const bool is_used =
        std::any_of(plan.tasks.begin(), plan.tasks.end(), [gpu](const TaskPlan& task) {
          return std::find(task.gpus.begin(), task.gpus.end(), gpu) != task.gpus.end();
        });
    if (is_used) {
      used.push_back(gpu);
    }
  }
  const std::vector<int> rails = deal_rails(plan.matrix, used, usable_ports(plan));
  for (TaskPlan& task : plan.tasks) {
    for (const int gpu : task.gpus) {
      const auto at = std::find(used.begin(), used.end(), gpu) - used.begin();
      const int rail = rails[static_cast<size_t>(at)];
      if (rail >= 0 && std::find(task.hcas.begin(), task.hcas.end(), rail) == task.hcas.end()) {
        task.hcas.push_back(rail);
      }
    }
  }
}

void look_at_ports(const Machine& machine, NodePlan& plan) {
  const std::vector<int> usable = usable_ports(plan);
  for (size_t i = 0; i < machine.hcas.size(); ++i) {
    const Hca& hca = machine.hcas[i];
    if (plan.ports[i].why == kNoRoutableGid) {
      plan.findings.push_back(
          Finding{concat(port_name(hca), " (RoCE) has no routable GID and is left out"),
                  concat("give its interface", hca.interface.empty() ? "" : " ", hca.interface,
                         " an IP address, or name the port with hca.skip")});
    }
  }
  if (usable.size() > static_cast<size_t>(kMostNcclDevices)) {
    plan.findings.push_back(Finding{
        concat(usable.size(), " HCA ports are usable; NCCL takes ", kMostNcclDevices, " at most"),
        "leave some out with hca.skip=NAME+NAME"});
  }
  if (machine.gpus.empty()) {
    return;
  }
  if (usable.empty()) {
    plan.remarks.push_back(Finding{machine.hcas.empty()
                                       ? "no HCA: NCCL will use TCP between nodes"
                                       : "no HCA port is usable: NCCL will use TCP "
                                         "between nodes",
                                   ""});
    return;
  }
  std::string far;
  for (const int port : usable) {
    const bool is_near = std::any_of(
        plan.matrix.paths.begin(), plan.matrix.paths.end(),
        [port](const auto& row) { return row[static_cast<size_t>(port)] != PathClass::kSys; });
    if (!is_near && usable.size() > 1) {
      far += concat(far.empty() ? "" : ", ", port_name(machine.hcas[static_cast<size_t>(port)]));
    }
  }
  if (!far.empty()) {
    plan.remarks.push_back(Finding{concat("near no GPU: ", far),
                                   "for storage or management? name them with hca.skip="});
  }
}

}  // namespace

NodePlan plan_node(const Machine& machine, const PlacementInput& input) {
  NodePlan plan;
  for (const TaskGrant& grant : input.tasks) {
    plan.tasks.push_back(TaskPlan{});
    plan.tasks.back().local_rank = grant.local_rank;
  }
  plan.matrix = path_matrix(machine);
  plan.ports = judge_ports(machine, input.skipped_hcas);
  const std::vector<int> up = ports_that_are_up(machine);
  for (size_t gpu = 0; gpu < machine.gpus.size(); ++gpu) {
    plan.nearest.push_back(nearest_hcas(plan.matrix, static_cast<int>(gpu), up));
  }
  plan_gpus(machine, input, plan);
  plan_cpus(machine, input, plan);
  if (input.bind.hca) {
    plan.ib_hca = nccl_ib_hca(machine, plan.ports);
    deal_hcas(machine, plan);
    look_at_ports(machine, plan);
  }
  return plan;
}

std::string ucx_net_devices(const Machine& machine, const TaskPlan& task) {
  std::string out;
  for (const int index : task.hcas) {
    const Hca& hca = machine.hcas[static_cast<size_t>(index)];
    const bool is_verbs = hca.link != LinkLayer::kSlingshot;
    if (is_verbs && hca.name.find('@') == std::string::npos) {
      out += concat(out.empty() ? "" : ",", port_name(hca));
    }
  }
  return out;
}

}  // namespace distinit
