// SPDX-License-Identifier: Apache-2.0
#include "lib/base/text.h"
#include "lib/topo/placement.h"
#include "lib/topo/visible_gpus.h"

#include <algorithm>
#include <set>

namespace distinit {

namespace {

void add_once(std::vector<Finding>& findings, Finding finding) {
  if (std::find(findings.begin(), findings.end(), finding) == findings.end()) {
    findings.push_back(std::move(finding));
  }
}

/// Gives a task the positions [first, first + count) of what it sees.
void give(TaskPlan& task, const std::vector<int>& visible, size_t first, size_t count) {
  for (size_t i = first; i < first + count; ++i) {
    task.ordinals.push_back(static_cast<int>(i));
    if (visible[i] != kUnknownGpu) {
      task.gpus.push_back(visible[i]);
    }
  }
}

void share_out(const std::vector<int>& visible, NodePlan& plan) {
  const size_t tasks = plan.tasks.size();
  const size_t each = visible.size() / tasks;
  for (size_t i = 0; i < tasks && !visible.empty(); ++i) {
    if (each > 0) {
      give(plan.tasks[i], visible, i * each, each);
    } else {
      give(plan.tasks[i], visible, i % visible.size(), 1);
    }
  }
  if (visible.empty()) {
    return;
  }
  if (each == 0) {
    plan.findings.push_back(Finding{
        concat(tasks, " ranks share ", visible.size(), visible.size() == 1 ? " GPU" : " GPUs"),
        "NCCL refuses two ranks on one GPU: start as many tasks on a node as it has GPUs "
        "(--ntasks-per-node, --gpus-per-node)"});
  } else if (visible.size() % tasks != 0) {
    plan.remarks.push_back(
        Finding{concat(visible.size() % tasks, " of ", visible.size(),
                       " visible GPUs are left over: ", tasks, " ranks get ", each, " each"),
                ""});
  }
}

bool has_duplicates(const std::vector<VisibleGpus>& visible) {
  std::set<int> seen;
  for (const VisibleGpus& one : visible) {
    for (const int gpu : one.gpus) {
      if (gpu != kUnknownGpu && !seen.insert(gpu).second) {
        return true;
      }
    }
  }
  return false;
}

void take_own(const std::vector<VisibleGpus>& visible, NodePlan& plan) {
  for (size_t i = 0; i < plan.tasks.size(); ++i) {
    give(plan.tasks[i], visible[i].gpus, 0, visible[i].gpus.size());
  }
  plan.findings.push_back(
      Finding{"Slurm shows each task its own GPUs alone, counted from 0: LOCAL_RANK is no valid "
              "device there, "
              "and where devices are constrained NCCL has neither NVLink nor IPC between ranks",
              "ask for them with --gpus-per-node=N (or --gres=gpu:N) instead of --gpus-per-task or "
              "--gpu-bind; "
              "Slurm 23.11 also has --gres-flags=allow-task-sharing; DISTINIT_GPUS holds the right "
              "numbers"});
  if (has_duplicates(visible)) {
    plan.findings.push_back(
        Finding{"ranks share GPUs", "NCCL refuses two ranks on one GPU: bind each task to others"});
  }
}

void warn_of_hidden_list(const Machine& machine, const PlacementInput& input, NodePlan& plan) {
  const bool none_set =
      std::none_of(input.tasks.begin(), input.tasks.end(), [](const TaskGrant& task) {
        return task.has_cuda || task.has_rocr || task.has_hip || task.has_ze;
      });
  const auto all = static_cast<int>(machine.gpus.size());
  if (none_set && input.gpus_on_node > 0 && input.gpus_on_node < all) {
    plan.findings.push_back(
        Finding{concat("the step has ", input.gpus_on_node, " of this node's ", all,
                       " GPUs, but no variable says which (--gpu-bind=none?)"),
                "ranks may use other jobs' GPUs: leave --gpu-bind out"});
  }
}

/// The variable is set, and nothing that could be counted was found: one word about it is enough.
bool warn_of_no_gpus(const Machine& machine, const PlacementInput& input, NodePlan& plan) {
  if (!machine.gpus.empty()) {
    return false;
  }
  for (const TaskGrant& task : input.tasks) {
    const bool names_some = task.has_cuda && !task.cuda.empty() && task.cuda != "NoDevFiles" &&
                            task.cuda != "-1" && task.cuda != "none";
    if (names_some) {
      plan.findings.push_back(Finding{
          concat("CUDA_VISIBLE_DEVICES=", abbreviate(task.cuda),
                 " names GPUs, but none is found on this node"),
          "see `distinit topo` there; is the driver loaded, or is the topology= file another "
          "node's?"});
      break;
    }
  }
  return true;
}

}  // namespace

void plan_gpus(const Machine& machine, const PlacementInput& input, NodePlan& plan) {
  if (input.tasks.empty() || warn_of_no_gpus(machine, input, plan)) {
    return;
  }
  std::vector<VisibleGpus> visible;
  for (const TaskGrant& task : input.tasks) {
    visible.push_back(visible_gpus(machine, task));
    for (const Finding& finding : visible.back().findings) {
      add_once(plan.findings, finding);
    }
  }
  warn_of_hidden_list(machine, input, plan);
  const bool is_same = std::all_of(visible.begin(), visible.end(), [&](const VisibleGpus& other) {
    return other.gpus == visible.front().gpus;
  });
  // A MIG UUID is not known, but two different ones are two devices.
  const bool has_same_text =
      std::all_of(input.tasks.begin(), input.tasks.end(),
                  [&](const TaskGrant& other) { return other.cuda == input.tasks.front().cuda; });
  const bool has_unknown = std::any_of(visible.begin(), visible.end(), [](const VisibleGpus& one) {
    return std::find(one.gpus.begin(), one.gpus.end(), kUnknownGpu) != one.gpus.end();
  });
  if (is_same && (has_same_text || !has_unknown)) {
    share_out(visible.front().gpus, plan);
  } else {
    take_own(visible, plan);
  }
}

}  // namespace distinit
