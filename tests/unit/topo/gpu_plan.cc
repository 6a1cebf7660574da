// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/placement.h"

#include "tests/unit/expect_text.h"
#include "tests/unit/topo/machines.h"

#include <criterion/criterion.h>

using namespace distinit;

namespace {

/// "0 1|2 3" for two tasks with two GPUs each.
std::string gpus_of(const NodePlan& plan) {
  std::string out;
  for (const TaskPlan& task : plan.tasks) {
    out += task.local_rank == 0 ? "" : "|";
    for (size_t i = 0; i < task.gpus.size(); ++i) {
      out += (i == 0 ? "" : " ") + std::to_string(task.gpus[i]);
    }
  }
  return out;
}

std::string ordinals_of(const NodePlan& plan) {
  NodePlan copy = plan;
  for (TaskPlan& task : copy.tasks) {
    task.gpus = task.ordinals;
  }
  return gpus_of(copy);
}

}  // namespace

Test(gpu_plan, rank_i_gets_the_next_n) {
  const Machine machine = simple_machine(8);
  EXPECT_TEXT(gpus_of(plan_node(machine, make_tasks(8))), "0|1|2|3|4|5|6|7");
  const NodePlan pairs = plan_node(machine, make_tasks(2, "7,6,1,0"));
  EXPECT_TEXT(gpus_of(pairs), "7 6|1 0");
  EXPECT_TEXT(ordinals_of(pairs), "0 1|2 3");
  cr_assert(pairs.findings.empty());
}

Test(gpu_plan, more_ranks_than_gpus_share_with_one_finding) {
  const NodePlan nine = plan_node(simple_machine(8), make_tasks(9));
  EXPECT_TEXT(gpus_of(nine), "0|1|2|3|4|5|6|7|0");
  cr_assert_eq(nine.findings.size(), 1u);
  EXPECT_TEXT(nine.findings[0].what, "9 ranks share 8 GPUs");
  const NodePlan four = plan_node(simple_machine(1), make_tasks(4, "0"));
  EXPECT_TEXT(gpus_of(four), "0|0|0|0");
  EXPECT_TEXT(four.findings.at(0).what, "4 ranks share 1 GPU");
}

Test(gpu_plan, leftover_gpus_are_a_remark) {
  const NodePlan plan = plan_node(simple_machine(8), make_tasks(3));
  EXPECT_TEXT(gpus_of(plan), "0 1|2 3|4 5");
  cr_assert(plan.findings.empty());
  EXPECT_TEXT(plan.remarks.at(0).what, "2 of 8 visible GPUs are left over: 3 ranks get 2 each");
}

Test(gpu_plan, isolated_tasks_count_from_zero_and_hear_what_it_costs) {
  PlacementInput input = make_tasks(4, "0");
  for (int i = 0; i < 4; ++i) {
    input.tasks[static_cast<size_t>(i)].cuda = std::to_string(3 - i);
  }
  const NodePlan plan = plan_node(simple_machine(4), input);
  EXPECT_TEXT(gpus_of(plan), "3|2|1|0");
  EXPECT_TEXT(ordinals_of(plan), "0|0|0|0");
  cr_assert_eq(plan.findings.size(), 1u);
  cr_assert_neq(plan.findings[0].hint.find("--gpus-per-node=N"), std::string::npos);
}

Test(gpu_plan, isolation_by_cgroup_shows_in_the_steps_numbers) {
  PlacementInput input = make_tasks(2, "0");
  input.tasks[0].step_gpus = "2";
  input.tasks[1].step_gpus = "3";
  const NodePlan plan = plan_node(simple_machine(4), input);
  EXPECT_TEXT(gpus_of(plan), "2|3");
  EXPECT_TEXT(ordinals_of(plan), "0|0");
  cr_assert_eq(plan.findings.size(), 1u);
}

Test(gpu_plan, two_isolated_tasks_on_one_gpu_are_told) {
  PlacementInput input = make_tasks(3, "0");
  input.tasks[2].cuda = "1";
  const NodePlan plan = plan_node(simple_machine(2), input);
  EXPECT_TEXT(gpus_of(plan), "0|0|1");
  cr_assert_eq(plan.findings.size(), 2u);
  EXPECT_TEXT(plan.findings[1].what, "ranks share GPUs");
}

Test(gpu_plan, unknown_partitions_are_counted_and_not_placed) {
  PlacementInput input = make_tasks(2, "MIG-11,MIG-22");
  Machine machine = simple_machine(1);
  NodePlan plan = plan_node(machine, input);
  EXPECT_TEXT(gpus_of(plan), "|");
  EXPECT_TEXT(ordinals_of(plan), "0|1");
  cr_assert(plan.findings.empty());
  input.tasks[0].cuda = "MIG-11";
  input.tasks[1].cuda = "MIG-22";
  plan = plan_node(machine, input);
  EXPECT_TEXT(ordinals_of(plan), "0|0");
}

Test(gpu_plan, a_wrong_list_is_told_once_for_all_tasks) {
  const NodePlan plan = plan_node(simple_machine(4), make_tasks(2, "0,1,8"));
  EXPECT_TEXT(gpus_of(plan), "0|1");
  cr_assert_eq(plan.findings.size(), 1u);
}

Test(gpu_plan, gpus_of_other_jobs_are_told) {
  PlacementInput input = make_tasks(2);
  input.gpus_on_node = 2;
  const NodePlan plan = plan_node(simple_machine(8), input);
  EXPECT_TEXT(
      plan.findings.at(0).what,
      "the step has 2 of this node's 8 GPUs, but no variable says which (--gpu-bind=none?)");
  input.gpus_on_node = 8;
  cr_assert(plan_node(simple_machine(8), input).findings.empty());
}

Test(gpu_plan, a_list_on_a_node_without_gpus_is_told_once) {
  const NodePlan plan = plan_node(simple_machine(0), make_tasks(2, "0,1"));
  EXPECT_TEXT(gpus_of(plan), "|");
  cr_assert_eq(plan.findings.size(), 1u);
  EXPECT_TEXT(plan.findings[0].what,
              "CUDA_VISIBLE_DEVICES=0,1 names GPUs, but none is found on this node");
  cr_assert(plan_node(simple_machine(0), make_tasks(2)).findings.empty());
}
