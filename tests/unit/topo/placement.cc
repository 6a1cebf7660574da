// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/placement.h"

#include "tests/unit/expect_text.h"
#include "tests/unit/topo/machines.h"

#include <criterion/criterion.h>

using namespace distinit;

namespace {

/// GPU i and mlx5_i on a switch of their own, a pair for each NUMA node.
MachineBuilder pairs(int count) {
  MachineBuilder builder;
  for (int i = 0; i < count; ++i) {
    builder.numa(i, i * 4, 4);
    const int upstream = builder.pcie_switch(builder.host_bridge({i}));
    const std::string domain = "000" + std::to_string(i);
    builder.gpu(builder.bridge(upstream), domain + ":10:00.0");
    builder.hca(builder.bridge(upstream), domain + ":20:00.0", "mlx5_" + std::to_string(i));
  }
  return builder;
}

std::string what_of(const std::vector<Finding>& findings) {
  std::string out;
  for (const Finding& finding : findings) {
    out += finding.what + "\n";
  }
  return out;
}

}  // namespace

Test(placement, each_task_has_its_rail_and_all_have_one_filter) {
  const Machine machine = pairs(3).finish();
  const NodePlan plan = plan_node(machine, make_tasks(3, "-", "0-11"));
  for (int i = 0; i < 3; ++i) {
    const TaskPlan& task = plan.tasks[static_cast<size_t>(i)];
    cr_assert(task.hcas == std::vector<int>({i}));
    EXPECT_TEXT(ucx_net_devices(machine, task), "mlx5_" + std::to_string(i) + ":1");
    cr_assert(plan.nearest[static_cast<size_t>(i)] == std::vector<int>({i}));
  }
  EXPECT_TEXT(plan.ib_hca, "=mlx5_0:1,mlx5_1:1,mlx5_2:1");
  cr_assert(plan.findings.empty() && plan.remarks.empty());
}

Test(placement, a_task_with_several_gpus_has_a_rail_for_each_once) {
  const Machine machine = pairs(4).finish();
  const NodePlan plan = plan_node(machine, make_tasks(2, "0,2,1,3", "0-15"));
  cr_assert(plan.tasks[0].hcas == std::vector<int>({0, 2}));
  EXPECT_TEXT(ucx_net_devices(machine, plan.tasks[1]), "mlx5_1:1,mlx5_3:1");
  const NodePlan one = plan_node(machine, make_tasks(1, "0,1,2,3", "0-15"));
  cr_assert(one.tasks[0].hcas == std::vector<int>({0, 1, 2, 3}));
}

Test(placement, rails_are_dealt_among_the_gpus_that_are_used) {
  // Two ports on the GPUs' switch: the second and third GPU of a part of the node get one each.
  MachineBuilder builder;
  builder.numa(0, 0, 4);
  const int upstream = builder.pcie_switch(builder.host_bridge({0}));
  for (const char* address : {"0000:11:00.0", "0000:12:00.0", "0000:13:00.0"}) {
    builder.gpu(builder.bridge(upstream), address);
  }
  builder.hca(builder.bridge(upstream), "0000:20:00.0", "mlx5_0");
  builder.hca(builder.bridge(upstream), "0000:21:00.0", "mlx5_1");
  const NodePlan plan = plan_node(builder.finish(), make_tasks(2, "1,2", "0-3"));
  cr_assert(plan.tasks[0].hcas == std::vector<int>({0}));
  cr_assert(plan.tasks[1].hcas == std::vector<int>({1}));
}

Test(placement, nearest_is_the_machines_and_rails_are_the_jobs) {
  MachineBuilder builder = pairs(2);
  builder.draft().hcas[1].state = PortState::kDown;
  PlacementInput input = make_tasks(2, "-", "0-7");
  NodePlan plan = plan_node(builder.finish(), input);
  cr_assert(plan.nearest[1] == std::vector<int>({0}));
  input.skipped_hcas = {"mlx5_0"};
  plan = plan_node(builder.finish(), input);
  cr_assert(plan.nearest[0] == std::vector<int>({0}));
  cr_assert(plan.tasks[0].hcas.empty());
  EXPECT_TEXT(plan.ib_hca, "");
  EXPECT_TEXT(what_of(plan.remarks), "no HCA port is usable: NCCL will use TCP between nodes\n");
}

Test(placement, hcas_are_left_alone_when_bind_leaves_them_out) {
  PlacementInput input = make_tasks(2, "-", "0-7");
  input.bind.hca = false;
  const NodePlan plan = plan_node(pairs(2).finish(), input);
  EXPECT_TEXT(plan.ib_hca, "");
  cr_assert(plan.tasks[0].hcas.empty());
  cr_assert(plan.ports[0].usable);
}

Test(placement, what_is_near_no_gpu_is_remarked) {
  MachineBuilder builder = pairs(2);
  builder.numa(9, 90, 1);
  builder.hca(builder.host_bridge({9}), "0009:30:00.0", "mlx5_8");
  const NodePlan plan = plan_node(builder.finish(), make_tasks(2, "-", "0-7"));
  EXPECT_TEXT(what_of(plan.remarks), "near no GPU: mlx5_8:1\n");
  EXPECT_TEXT(plan.ib_hca, "=mlx5_0:1,mlx5_1:1,mlx5_8:1");
}

Test(placement, roce_without_a_routable_gid_is_a_finding) {
  MachineBuilder builder = pairs(1);
  Hca& hca = builder.draft().hcas[0];
  hca.link = LinkLayer::kEthernet;
  hca.interface = "ens1";
  hca.gids = {Gid{0, "fe80:0000:0000:0000:0a00:27ff:fe00:0001", GidType::kRoceV2, "ens1"}};
  const NodePlan plan = plan_node(builder.finish(), make_tasks(1, "-", "0-3"));
  EXPECT_TEXT(what_of(plan.findings), "mlx5_0:1 (RoCE) has no routable GID and is left out\n");
  EXPECT_TEXT(plan.findings[0].hint,
              "give its interface ens1 an IP address, or name the port with hca.skip");
}

Test(placement, more_devices_than_nccl_takes_are_told) {
  MachineBuilder builder = pairs(1);
  for (int i = 1; i < 33; ++i) {
    builder.hca(0, "0000:" + std::to_string(30 + i) + ":00.0", "mlx5_" + std::to_string(i));
  }
  const NodePlan plan = plan_node(builder.finish(), make_tasks(1, "-", "0-3"));
  EXPECT_TEXT(what_of(plan.findings), "33 HCA ports are usable; NCCL takes 32 at most\n");
}

Test(placement, no_tasks_and_no_machine_are_no_trouble) {
  cr_assert(plan_node(Machine{}, PlacementInput{}) == NodePlan{});
  cr_assert(plan_node(pairs(1).finish(), PlacementInput{}).tasks.empty());
  cr_assert_eq(plan_node(Machine{}, make_tasks(2)).tasks.size(), 2u);
}
