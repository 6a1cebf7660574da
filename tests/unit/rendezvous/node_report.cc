// SPDX-License-Identifier: Apache-2.0
#include "lib/rendezvous/node_report.h"

#include "tests/unit/expect_text.h"

#include <criterion/criterion.h>

using namespace distinit;

namespace {

const Finding kShared{"9 ranks share 8 GPUs", "start fewer"};

}  // namespace

Test(node_report, what_all_nodes_found_is_told_once) {
  std::map<int, NodeReport> reports;
  for (int i = 0; i < 7; ++i) {
    reports[i] = NodeReport{"n" + std::to_string(i + 1), "mlx5_0:1", {kShared}, true};
  }
  const auto merged = merge_reports(reports);
  cr_assert_eq(merged.size(), 1u);
  EXPECT_TEXT(merged[0].what, "n1, n2, n3 and 4 other nodes: 9 ranks share 8 GPUs");
  EXPECT_TEXT(merged[0].hint, "start fewer");
}

Test(node_report, four_nodes_are_all_named) {
  std::map<int, NodeReport> reports;
  for (int i = 0; i < 4; ++i) {
    reports[i] = NodeReport{"n" + std::to_string(i + 1), "", {kShared, kShared}, false};
  }
  const auto merged = merge_reports(reports);
  cr_assert_eq(merged.size(), 1u);
  EXPECT_TEXT(merged[0].what, "n1, n2, n3, n4: 9 ranks share 8 GPUs");
}

Test(node_report, different_findings_keep_the_order_of_the_nodes) {
  const std::map<int, NodeReport> reports = {
      {1, {"a", "", {Finding{"second", ""}, kShared}, false}},
      {0, {"b", "", {Finding{"first", ""}}, false}},
  };
  const auto merged = merge_reports(reports);
  cr_assert_eq(merged.size(), 3u);
  EXPECT_TEXT(merged[0].what, "b: first");
  EXPECT_TEXT(merged[1].what, "a: second");
  EXPECT_TEXT(merged[2].what, "a: 9 ranks share 8 GPUs");
}

Test(node_report, nodes_with_other_hcas_are_named_with_them) {
  const std::map<int, NodeReport> reports = {
      {0, {"n1", "mlx5_0:1,mlx5_1:1", {}, true}},
      {1, {"n2", "mlx5_0:1", {}, true}},
      {2, {"n3", "mlx5_0:1,mlx5_1:1", {}, true}},
      {3, {"n4", "", {}, true}},
      {4, {"n5", "", {}, false}},
  };
  const auto merged = merge_reports(reports);
  cr_assert_eq(merged.size(), 1u);
  EXPECT_TEXT(
      merged[0].what,
      "usable HCAs differ between nodes: mlx5_0:1,mlx5_1:1 on n1, n3; mlx5_0:1 on n2; none on "
      "n4");
}

Test(node_report, many_kinds_of_node_are_counted) {
  std::map<int, NodeReport> reports;
  for (int i = 0; i < 6; ++i) {
    reports[i] = NodeReport{"n" + std::to_string(i), "mlx5_" + std::to_string(i) + ":1", {}, true};
  }
  const auto merged = merge_reports(reports);
  cr_assert_eq(merged.size(), 1u);
  EXPECT_TEXT(merged[0].what,
              "usable HCAs differ between nodes: mlx5_0:1 on n0; mlx5_1:1 on n1; mlx5_2:1 on n2; "
              "mlx5_3:1 on n3; 2 more kinds of node");
}

Test(node_report, nodes_that_do_not_know_their_hcas_do_not_differ) {
  const std::map<int, NodeReport> reports = {{0, {"n1", "mlx5_0:1", {}, true}},
                                             {1, {"n2", "", {}, false}}};
  cr_assert_eq(merge_reports(reports).size(), 0u);
  cr_assert_eq(merge_reports({}).size(), 0u);
}
