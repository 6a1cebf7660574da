// SPDX-License-Identifier: Apache-2.0
#include "lib/env/nccl.h"

#include "lib/base/text.h"
#include "tests/unit/env/sample.h"
#include "tests/unit/expect_text.h"

using namespace distinit;

namespace {

/// "NAME=value", blanks between; all of them are defaults.
std::string all(const std::vector<Assignment>& assignments) {
  std::vector<std::string> out;
  for (const Assignment& assignment : assignments) {
    cr_expect(assignment.kind == AssignmentKind::kDefault, "%s", assignment.name.c_str());
    out.push_back(concat(assignment.name, '=', assignment.value));
  }
  return join(out, " ");
}

/// Two nodes, ib0, and a filter of two ports.
Sample& with_filter(Sample& sample) {
  sample.context.nccl_ib_hca = "=mlx5_0:1,mlx5_3:1";
  return sample;
}

}  // namespace

Test(nccl, names_hcas_and_interface) {
  Sample sample;
  EXPECT_TEXT(all(nccl_family(with_filter(sample).context)),
              "NCCL_IB_HCA==mlx5_0:1,mlx5_3:1 NCCL_SOCKET_IFNAME==ib0");
  sample.context.nccl_ib_hca.clear();
  EXPECT_TEXT(all(nccl_family(sample.context)), "NCCL_SOCKET_IFNAME==ib0");
}

Test(nccl, names_no_interface_on_one_node_or_where_none_is_known) {
  Sample sample;
  with_filter(sample).context.interface = "lo";
  EXPECT_TEXT(all(nccl_family(sample.context)), "NCCL_IB_HCA==mlx5_0:1,mlx5_3:1");
  sample.context.interface.clear();
  EXPECT_TEXT(all(nccl_family(sample.context)), "NCCL_IB_HCA==mlx5_0:1,mlx5_3:1");
  sample.context.interface = "eth0";
  sample.context.group_world_size = 1;
  EXPECT_TEXT(all(nccl_family(sample.context)), "NCCL_IB_HCA==mlx5_0:1,mlx5_3:1");
}

Test(nccl, sets_what_site_and_user_ask_for) {
  Sample sample;
  with_filter(sample).context.nccl_settings = {{"IB_SL", "3"}, {"IB_TC", "160"}};
  EXPECT_TEXT(all(nccl_family(sample.context)),
              "NCCL_IB_SL=3 NCCL_IB_TC=160 NCCL_IB_HCA==mlx5_0:1,mlx5_3:1 "
              "NCCL_SOCKET_IFNAME==ib0");
}

Test(nccl, prefers_an_explicit_setting_to_what_was_found) {
  Sample sample;
  with_filter(sample).context.nccl_settings = {{"IB_HCA", "=mlx5_9"}, {"SOCKET_IFNAME", "bond0"}};
  EXPECT_TEXT(all(nccl_family(sample.context)), "NCCL_IB_HCA==mlx5_9 NCCL_SOCKET_IFNAME=bond0");
}

Test(nccl, leaves_to_nccls_files_what_they_set) {
  Sample sample;
  with_filter(sample).context.nccl_conf = {"NCCL_IB_HCA", "NCCL_IB_SL", "NCCL_DEBUG"};
  EXPECT_TEXT(all(nccl_family(sample.context)), "NCCL_SOCKET_IFNAME==ib0");
  // What was asked for wins over a file, as every variable does.
  sample.context.nccl_settings = {{"IB_HCA", "=mlx5_9"}, {"IB_SL", "3"}};
  EXPECT_TEXT(all(nccl_family(sample.context)),
              "NCCL_IB_HCA==mlx5_9 NCCL_IB_SL=3 NCCL_SOCKET_IFNAME==ib0");
  sample.context.nccl_settings.clear();
  sample.context.nccl_conf = {"NCCL_SOCKET_IFNAME"};
  EXPECT_TEXT(all(nccl_family(sample.context)), "NCCL_IB_HCA==mlx5_0:1,mlx5_3:1");
}

Test(nccl, lets_the_users_own_variables_win) {
  Sample sample;
  with_filter(sample).context.nccl_settings = {{"IB_SL", "3"}};
  const Environment task(std::vector<std::string>{"NCCL_IB_HCA=mlx5_7", "NCCL_IB_SL=5"});
  const auto applied = apply_assignments(nccl_family(sample.context), task);
  EXPECT_TEXT(join(applied.kept, " "), "NCCL_IB_SL=5 NCCL_IB_HCA=mlx5_7");
  EXPECT_TEXT(join(applied.ours, " "), "NCCL_SOCKET_IFNAME==ib0");
  cr_expect(applied.findings.empty());
}
