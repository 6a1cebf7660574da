// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/distance.h"

#include "tests/unit/topo/machines.h"

#include <criterion/criterion.h>

using namespace distinit;

namespace {

/// The class between the GPU and the one HCA.
PathClass only_path(const Machine& machine) {
  return path_matrix(machine).paths[0][0];
}

}  // namespace

Test(distance, one_switch_is_pix_and_two_are_pxb) {
  for (const bool second : {false, true}) {
    MachineBuilder builder;
    builder.numa(0, 0, 4);
    const int upstream = builder.pcie_switch(builder.host_bridge({0}));
    const int port = builder.bridge(upstream);
    builder.gpu(port, "0000:10:00.0");
    const int other = builder.bridge(upstream);
    builder.hca(second ? builder.bridge(builder.bridge(other)) : other, "0000:20:00.0", "mlx5_0");
    cr_assert(only_path(builder.finish()) == (second ? PathClass::kPxb : PathClass::kPix));
  }
}

Test(distance, two_functions_behind_one_root_port_are_pix) {
  MachineBuilder builder;
  builder.numa(0, 0, 4);
  const int port = builder.bridge(builder.host_bridge({0}));
  builder.gpu(port, "0000:10:00.0");
  builder.hca(port, "0000:10:00.1", "mlx5_0");
  cr_assert(only_path(builder.finish()) == PathClass::kPix);
}

Test(distance, one_function_of_both_kinds_is_pix) {
  MachineBuilder builder;
  builder.numa(0, 0, 4);
  const int root = builder.host_bridge({0});
  builder.gpu(root, "0000:10:00.0");
  builder.hca(root, "0000:10:00.0", "mlx5_0");
  cr_assert(only_path(builder.finish()) == PathClass::kPix);
}

Test(distance, two_root_ports_of_a_host_bridge_are_phb) {
  MachineBuilder builder;
  builder.numa(0, 0, 4);
  const int root = builder.host_bridge({0});
  builder.gpu(builder.bridge(root), "0000:10:00.0");
  builder.hca(builder.bridge(root), "0000:20:00.0", "mlx5_0");
  cr_assert(only_path(builder.finish()) == PathClass::kPhb);
}

Test(distance, host_bridges_are_node_or_sys_by_their_numa_nodes) {
  for (const bool same : {true, false}) {
    MachineBuilder builder;
    builder.numa(0, 0, 4).numa(1, 4, 4);
    builder.gpu(builder.host_bridge({0}), "0000:10:00.0");
    builder.hca(builder.host_bridge({same ? 0 : 1}), "0001:20:00.0", "mlx5_0");
    cr_assert(only_path(builder.finish()) == (same ? PathClass::kNode : PathClass::kSys));
  }
}

Test(distance, whole_switches_of_nccls_files_count_twice) {
  for (const bool second : {false, true}) {
    MachineBuilder builder;
    builder.numa(0, 0, 4);
    const int top = builder.bridge(builder.host_bridge({0}), PciKind::kSwitch);
    builder.gpu(top, "0000:10:00.0");
    builder.hca(second ? builder.bridge(top, PciKind::kSwitch) : top, "0000:20:00.0", "mlx5_0");
    cr_assert(only_path(builder.finish()) == (second ? PathClass::kPxb : PathClass::kPix));
  }
}

Test(distance, what_is_not_in_the_tree_is_sys) {
  MachineBuilder builder;
  builder.numa(0, 0, 4);
  builder.gpu(builder.host_bridge({0}), "0000:10:00.0");
  builder.draft().hcas.push_back(Hca{});
  cr_assert(only_path(builder.finish()) == PathClass::kSys);
}

Test(distance, ties_are_kept_and_the_package_decides_among_sys) {
  PathMatrix matrix;
  matrix.paths = {{PathClass::kSys, PathClass::kSys, PathClass::kSys},
                  {PathClass::kPxb, PathClass::kPix, PathClass::kPix}};
  cr_assert(nearest_hcas(matrix, 0, {0, 1, 2}) == std::vector<int>({0, 1, 2}));
  matrix.same_package = {{false, true, true}, {false, false, false}};
  cr_assert(nearest_hcas(matrix, 0, {0, 1, 2}) == std::vector<int>({1, 2}));
  cr_assert(nearest_hcas(matrix, 0, {0}) == std::vector<int>({0}));
  cr_assert(nearest_hcas(matrix, 1, {0, 1, 2}) == std::vector<int>({1, 2}));
  cr_assert(nearest_hcas(matrix, 1, {0}) == std::vector<int>({0}));
  cr_assert(nearest_hcas(matrix, 1, {}).empty());
}
