// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/placement.h"

#include "tests/unit/expect_text.h"
#include "tests/unit/topo/machines.h"

#include <criterion/criterion.h>

using namespace distinit;

namespace {

/// "0-3|4-7", with a '-' for a task that is not bound.
std::string cpus_of(const NodePlan& plan) {
  std::string out;
  for (const TaskPlan& task : plan.tasks) {
    out += task.local_rank == 0 ? "" : "|";
    out += task.binds_cpus ? task.cpus.format() : "-";
  }
  return out;
}

/// Two packages of a NUMA node each: 8 cores with 2 threads, CPU c and c + 16. A GPU near each.
MachineBuilder two_sockets(int gpus_each) {
  MachineBuilder builder;
  builder.numa(0, 0, 8, 2, 16).numa(1, 8, 8, 2, 16);
  builder.package(0, "0-7,16-23").package(1, "8-15,24-31");
  for (int socket = 0; socket < 2; ++socket) {
    const int root = builder.host_bridge({socket});
    for (int i = 0; i < gpus_each; ++i) {
      builder.gpu(root, "000" + std::to_string(socket) + ":1" + std::to_string(i) + ":00.0");
    }
  }
  return builder;
}

}  // namespace

Test(cpu_plan, whole_cores_near_the_gpu_split_evenly) {
  const Machine machine = two_sockets(2).finish();
  EXPECT_TEXT(cpus_of(plan_node(machine, make_tasks(4, "-", "0-31"))),
              "0-3,16-19|4-7,20-23|8-11,24-27|12-15,28-31");
  // Ranks follow their GPUs, not their numbers.
  EXPECT_TEXT(cpus_of(plan_node(machine, make_tasks(4, "3,1,2,0", "0-31"))),
              "8-11,24-27|0-3,16-19|12-15,28-31|4-7,20-23");
}

Test(cpu_plan, stays_inside_the_mask) {
  const Machine machine = two_sockets(1).finish();
  EXPECT_TEXT(cpus_of(plan_node(machine, make_tasks(2, "-", "2-5,9"))), "2-5|9");
  // One thread of a core is all that there is of it.
  EXPECT_TEXT(cpus_of(plan_node(machine, make_tasks(2, "-", "0-15"))), "0-7|8-15");
}

Test(cpu_plan, a_mask_that_is_far_from_the_gpu_is_shared_as_it_is_and_told) {
  const Machine machine = two_sockets(1).finish();
  const NodePlan plan = plan_node(machine, make_tasks(2, "-", "0-3"));
  EXPECT_TEXT(plan.tasks[0].cpus.format() + "|" + plan.tasks[1].cpus.format(), "0-1|2-3");
  cr_assert_eq(plan.findings.size(), 1u);
  EXPECT_TEXT(plan.findings[0].what,
              "local rank 1's GPU is near CPUs 8-15,24-31, and it may run on 0-3 alone");
  // Also where the binding is somebody else's and stays.
  PlacementInput users = make_tasks(2, "-", "0-3");
  users.cpus_are_users = true;
  const NodePlan left = plan_node(machine, users);
  EXPECT_TEXT(cpus_of(left), "-|-");
  cr_assert(left.findings == plan.findings);
}

Test(cpu_plan, one_task_gets_what_is_near_all_of_its_gpus) {
  const Machine machine = two_sockets(1).finish();
  EXPECT_TEXT(cpus_of(plan_node(machine, make_tasks(1, "1", "0-31"))), "8-15,24-31");
  EXPECT_TEXT(cpus_of(plan_node(machine, make_tasks(1, "0,1", "0-31"))), "0-31");
}

Test(cpu_plan, nested_localities_both_get_cores_of_their_own) {
  // A GPU near a whole package of two NUMA nodes, and one near the first of these.
  MachineBuilder builder;
  builder.numa(0, 0, 4).numa(1, 4, 4).package(0, "0-7");
  builder.gpu(builder.host_bridge({0, 1}), "0000:10:00.0");
  builder.gpu(builder.host_bridge({0}), "0000:20:00.0");
  EXPECT_TEXT(cpus_of(plan_node(builder.finish(), make_tasks(2, "-", "0-7"))), "4-7|0-3");
}

Test(cpu_plan, without_gpus_neighbours_share_a_numa_node) {
  EXPECT_TEXT(cpus_of(plan_node(two_sockets(0).finish(), make_tasks(4, "-", "0-31"))),
              "0-3,16-19|4-7,20-23|8-11,24-27|12-15,28-31");
  EXPECT_TEXT(cpus_of(plan_node(two_sockets(0).finish(), make_tasks(3, "-", "0-7"))),
              "0-1|2-4|5-7");
}

Test(cpu_plan, fewer_cores_than_tasks_are_shared_and_nobody_goes_empty) {
  const NodePlan plan = plan_node(two_sockets(0).finish(), make_tasks(3, "-", "0-1,16-17"));
  EXPECT_TEXT(cpus_of(plan), "0,16|1,17|0,16");
  EXPECT_TEXT(plan.remarks.back().what, "3 ranks share 2 cores");
}

Test(cpu_plan, what_somebody_else_has_bound_stays) {
  const Machine machine = two_sockets(1).finish();
  PlacementInput input = make_tasks(2, "-", "0-31");
  input.cpus_are_users = true;
  EXPECT_TEXT(cpus_of(plan_node(machine, input)), "-|-");
  EXPECT_TEXT(plan_node(machine, input).unbound_why, "the user gave --cpu-bind");
  input = make_tasks(2, "-", "0-31");
  cr_assert(plan_node(machine, input).unbound_why.empty());
  input.tasks[1].cpus = cpus("0-3");
  const NodePlan differ = plan_node(machine, input);
  EXPECT_TEXT(cpus_of(differ), "-|-");
  EXPECT_TEXT(differ.tasks[1].cpus.format(), "0-3");
  EXPECT_TEXT(differ.unbound_why, "the tasks are bound already");
  input = make_tasks(2, "-", "0-7");
  input.job_cpus = 32;
  EXPECT_TEXT(cpus_of(plan_node(machine, input)), "-|-");
  input.job_cpus = 8;
  EXPECT_TEXT(cpus_of(plan_node(machine, input)), "0-3|4-7");
  input = make_tasks(2, "-", "0-31");
  input.bind.cpu = false;
  EXPECT_TEXT(cpus_of(plan_node(machine, input)), "-|-");
  EXPECT_TEXT(cpus_of(plan_node(machine, make_tasks(2, "-", ""))), "-|-");
}

Test(cpu_plan, a_mask_of_more_than_the_jobs_cpus_may_be_another_jobs_too) {
  const Machine machine = two_sockets(1).finish();
  PlacementInput input = make_tasks(2, "-", "0-31");
  input.job_cpus = 15;
  const NodePlan plan = plan_node(machine, input);
  EXPECT_TEXT(cpus_of(plan), "-|-");
  EXPECT_TEXT(plan.remarks.front().what,
              "CPUs are not bound: the job has 15 of the 32 CPUs that its tasks may run on");
  // Sites may count cores.
  input.job_cpus = 16;
  EXPECT_TEXT(cpus_of(plan_node(machine, input)), "0-7,16-23|8-15,24-31");
}

Test(cpu_plan, memory_only_when_asked_and_never_from_a_node_without_cpus) {
  MachineBuilder builder;
  builder.numa(0, 0, 4).numa(1, 4, 4).numa(2, 8, 0);
  builder.gpu(builder.host_bridge({1, 2}), "0000:10:00.0");
  const Machine machine = builder.finish();
  PlacementInput input = make_tasks(1, "-", "0-7");
  cr_assert_eq(plan_node(machine, input).tasks[0].memory_node, -1);
  input.bind.memory = true;
  cr_assert_eq(plan_node(machine, input).tasks[0].memory_node, 1);
}

Test(cpu_plan, cpus_that_the_file_does_not_know_count_as_cores) {
  EXPECT_TEXT(cpus_of(plan_node(two_sockets(0).finish(), make_tasks(2, "-", "40-43"))),
              "40-41|42-43");
  cr_assert_eq(core_count(two_sockets(0).finish(), cpus("0,16,1,40")), 3);
}
