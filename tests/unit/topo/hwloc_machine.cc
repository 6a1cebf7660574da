// SPDX-License-Identifier: Apache-2.0
// The reader's values on machines that we describe ourselves (tests/data/topo).
#include "lib/topo/load_machine.h"
#include "lib/topo/readers.h"
#include "tests/unit/expect_text.h"
#include "tests/unit/topo/describe.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

using namespace distinit;

namespace {

Machine load(const std::string& name) {
  auto machine = load_machine_file("tests/data/topo/" + name + ".hwloc.xml");
  cr_assert(machine.has_value(), "%s", machine ? "" : format_error(machine.error()).c_str());
  return *machine;
}

constexpr const char* kFourCores =
    "cores 0,4 1,5 2,6 3,7\n"
    "numa 0:0-7\n"
    "packages 0:0-7\n";

}  // namespace

Test(hwloc_machine, version_1_with_sockets_in_numa_nodes_and_a_device_with_two_ports) {
  const Machine machine = load("v1-2gpu-2port");
  EXPECT_TEXT(machine.source, "tests/data/topo/v1-2gpu-2port.hwloc.xml");
  cr_expect(!machine.is_nccl);
  EXPECT_TEXT(machine.cpus.format(), "0-7");
  EXPECT_TEXT(describe_cpus(machine),
              "cores 0-1 2-3 4-5 6-7\nnuma 0:0-3 1:4-7\npackages 0:0-3 1:4-7\n");
  EXPECT_TEXT(describe_gpus(machine),
              "0 cuda0 0000:01:00.0<0000:00:03.0<host cpus 0-3 numa 0\n"
              "1 cuda1 0000:81:00.0<0000:80:03.0<host cpus 4-7 numa 1\n");
  EXPECT_TEXT(
      describe_hcas(machine),
      "mlx4_0:1 infiniband active lid 154 on ib0 0000:02:00.0<0000:00:02.0<host cpus 0-3 numa 0\n"
      "mlx4_0:2 infiniband down on ib1 0000:02:00.0<0000:00:02.0<host cpus 0-3 numa 0\n");
}

Test(hwloc_machine, the_pci_tree_has_parents_before_children) {
  const Machine machine = load("v1-2gpu-2port");
  cr_assert_eq(machine.pci.size(), 8u);
  const int parents[] = {-1, 0, 1, 0, 3, -1, 5, 6};
  for (size_t i = 0; i < machine.pci.size(); ++i) {
    cr_expect_eq(machine.pci[i].parent, parents[i]);
  }
  cr_expect(machine.pci[0].kind == PciKind::kHostBridge);
  cr_expect(machine.pci[1].kind == PciKind::kBridge);
  cr_expect_eq(machine.pci[1].class_id, 0x0604);
  const PciNode& gpu = machine.pci[2];
  cr_expect(gpu.kind == PciKind::kDevice);
  cr_expect_eq(gpu.class_id, 0x0302);
  cr_expect_eq(gpu.vendor, 0x10de);
  cr_expect_eq(gpu.device, 0x1023);
  cr_expect_eq(machine.gpus[0].pci_node, 2);
  cr_expect(machine.gpus[0].vendor == GpuVendor::kNvidia);
}

Test(hwloc_machine, sub_numa_clustering_has_localities_smaller_than_packages) {
  const Machine machine = load("snc4-2gpu-2hca");
  EXPECT_TEXT(describe_cpus(machine),
              "cores 0,16 1,17 2,18 3,19 4,20 5,21 6,22 7,23 8,24 9,25 10,26 11,27 12,28 13,29 "
              "14,30 15,31\n"
              "numa 0:0-1,16-17 1:2-3,18-19 2:4-5,20-21 3:6-7,22-23 4:8-9,24-25 5:10-11,26-27 "
              "6:12-13,28-29 7:14-15,30-31\n"
              "packages 0:0-7,16-23 1:8-15,24-31\n");
  EXPECT_TEXT(describe_gpus(machine),
              "0 nvml0 0000:91:00.0<0000:90:01.0<host cpus 12-13,28-29 numa 6\n"
              "1 nvml1 0000:11:00.0<0000:10:01.0<host cpus 2-3,18-19 numa 1\n");
  EXPECT_TEXT(
      describe_hcas(machine),
      "mlx5_0:1 infiniband active lid 18 on ib0 0000:21:00.0<0000:20:01.0<host cpus 2-3,18-19 "
      "numa 1\n"
      "mlx5_1:1 infiniband active lid 18 on ib1 0000:31:00.0<0000:30:01.0<host cpus 4-5,20-21 "
      "numa 2\n");
}

Test(hwloc_machine, a_management_controller_s_vga_is_no_gpu_and_ports_of_a_card_are_two_functions) {
  const Machine machine = load("tied-ports-2gpu");
  EXPECT_TEXT(describe_gpus(machine),
              "0 - 0000:03:00.0<0000:02:00.0<0000:01:00.0<0000:00:01.0<host cpus 0-7 numa 0\n"
              "1 - 0000:04:00.0<0000:02:01.0<0000:01:00.0<0000:00:01.0<host cpus 0-7 numa 0\n");
  EXPECT_TEXT(describe_hcas(machine),
              "mlx5_0:1 infiniband active lid 18 on ib0 "
              "0000:05:00.0<0000:02:02.0<0000:01:00.0<0000:00:01.0<host cpus 0-7 numa 0\n"
              "mlx5_1:1 infiniband active lid 18 on ib1 "
              "0000:05:00.1<0000:02:02.0<0000:01:00.0<0000:00:01.0<host cpus 0-7 numa 0\n");
  EXPECT_TEXT(describe_cpus(machine), kFourCores);
}

Test(hwloc_machine, port_states_lids_and_gids_are_those_of_each_port) {
  const Machine machine = load("down-ports");
  EXPECT_TEXT(describe_hcas(machine),
              "mlx5_0:1 infiniband down on ib0 0000:02:00.0<0000:00:02.0<host cpus 0-7 numa 0\n"
              "mlx5_1:1 infiniband init 0000:03:00.0<0000:00:03.0<host cpus 0-7 numa 0\n"
              "mlx5_2:1 infiniband armed lid 19 0000:04:00.0<0000:00:04.0<host cpus 0-7 numa 0\n"
              "mlx4_0:1 infiniband active lid 20 0000:05:00.0<0000:00:05.0<host cpus 0-7 numa 0\n"
              "mlx4_0:2 infiniband down 0000:05:00.0<0000:00:05.0<host cpus 0-7 numa 0\n"
              "mlx5_3:1 infiniband unknown 0000:06:00.0<0000:00:06.0<host cpus 0-7 numa 0\n");
  cr_assert_eq(machine.hcas[4].gids.size(), 1u);
  cr_expect_eq(machine.hcas[4].gids[0].index, 0);
  EXPECT_TEXT(machine.hcas[4].gids[0].text, "fe80:0000:0000:0000:0000:0000:0000:0102");
  cr_expect(machine.hcas[4].gids[0].type == GidType::kUnknown);
  cr_expect(machine.hcas[5].gids.empty());
  cr_expect_eq(machine.hcas[0].rate_gbps, 0);
}

Test(hwloc_machine, numbers_are_the_vendor_s_and_link_layers_the_pci_class_s) {
  const Machine machine = load("two-link-layers-shuffled");
  EXPECT_TEXT(
      describe_gpus(machine),
      "0 nvml0 0000:23:00.0<0000:22:00.0<0000:21:00.0<0000:20:01.0<host cpus 0-7,16-23 numa 0\n"
      "1 nvml1 0000:93:00.0<0000:92:00.0<0000:91:00.0<0000:90:01.0<host cpus 8-15,24-31 numa 1\n"
      "2 nvml2 0000:13:00.0<0000:12:00.0<0000:11:00.0<0000:10:01.0<host cpus 0-7,16-23 numa 0\n"
      "3 nvml3 0000:83:00.0<0000:82:00.0<0000:81:00.0<0000:80:01.0<host cpus 8-15,24-31 numa 1\n");
  std::string links;
  for (const Hca& hca : machine.hcas) {
    links += concat(port_name(hca), ' ', link_text(hca.link), ' ', state_text(hca.state), ", ");
  }
  EXPECT_TEXT(links,
              "mlx5_3:1 infiniband active, mlx5_5:1 infiniband active, mlx5_0:1 ethernet active, "
              "mlx5_1:1 ethernet down, mlx5_2:1 infiniband active, mlx5_4:1 infiniband active, ");
}

Test(hwloc_machine, several_devices_behind_a_function_are_its_partitions) {
  const Machine mig = load("mig");
  EXPECT_TEXT(describe_gpus(mig),
              "0 cuda0 part 0 0000:01:00.0<0000:00:01.0<host cpus 0-7 numa 0\n"
              "1 cuda1 part 1 0000:01:00.0<0000:00:01.0<host cpus 0-7 numa 0\n"
              "2 cuda2 part 2 0000:01:00.0<0000:00:01.0<host cpus 0-7 numa 0\n"
              "3 cuda3 0000:02:00.0<0000:00:02.0<host cpus 0-7 numa 0\n");
  const Machine amd = load("amd-partitions-slingshot");
  EXPECT_TEXT(describe_gpus(amd),
              "0 rsmi0 part 0 0000:02:00.0<0000:00:02.1<host cpus 0-3,8-11 numa 0\n"
              "1 rsmi1 part 1 0000:02:00.0<0000:00:02.1<host cpus 0-3,8-11 numa 0\n"
              "2 rsmi2 part 2 0000:02:00.0<0000:00:02.1<host cpus 0-3,8-11 numa 0\n"
              "3 rsmi3 part 0 0001:02:00.0<0001:00:02.1<host cpus 4-7,12-15 numa 1\n"
              "4 rsmi4 part 1 0001:02:00.0<0001:00:02.1<host cpus 4-7,12-15 numa 1\n"
              "5 rsmi5 part 2 0001:02:00.0<0001:00:02.1<host cpus 4-7,12-15 numa 1\n");
  cr_expect(amd.gpus[0].vendor == GpuVendor::kAmd);
}

Test(hwloc_machine, slingshot_is_known_by_its_vendor_without_a_subtype) {
  EXPECT_TEXT(describe_hcas(load("amd-partitions-slingshot")),
              "hsi0:1 slingshot unknown on hsi0 0000:01:00.0<0000:00:01.1<host cpus 0-3,8-11 numa "
              "0\n"
              "hsi1:1 slingshot unknown on hsi1 0001:01:00.0<0001:00:01.1<host cpus 4-7,12-15 numa "
              "1\n");
}

Test(hwloc_machine, gpus_without_vendor_objects_are_numbered_by_bus) {
  const Machine machine = load("efa-2gpu");
  EXPECT_TEXT(describe_gpus(machine),
              "0 - 0000:13:00.0<0000:12:00.0<0000:11:00.0<0000:10:01.0<host cpus 0-7 numa 0\n"
              "1 - 0000:23:00.0<0000:22:00.0<0000:21:00.0<0000:20:01.0<host cpus 0-7 numa 0\n");
  EXPECT_TEXT(
      describe_hcas(machine),
      "rdmap20s0:1 ethernet active 0000:14:00.0<0000:12:01.0<0000:11:00.0<0000:10:01.0<host "
      "cpus 0-7 numa 0\n"
      "rdmap36s0:1 ethernet active 0000:24:00.0<0000:22:01.0<0000:21:00.0<0000:20:01.0<host "
      "cpus 0-7 numa 0\n");
  const Machine intel = load("intel-gpus");
  EXPECT_TEXT(describe_gpus(intel),
              "0 - 0000:01:00.0<0000:00:04.0<host cpus 0-7 numa 0\n"
              "1 - 0000:02:00.0<0000:00:05.0<host cpus 0-7 numa 0\n");
  cr_expect(intel.gpus[0].vendor == GpuVendor::kIntel);
}

Test(hwloc_machine, virtual_functions_name_their_physical_one) {
  EXPECT_TEXT(describe_hcas(load("virtual-functions")),
              "mlx5_0:1 infiniband active lid 18 on ib0 "
              "0000:14:00.0<0000:12:01.0<0000:11:00.0<0000:10:01.0<host cpus 0-7 numa 0\n"
              "mlx5_1:1 infiniband active lid 18 virtual of 0000:14:00.0 "
              "0000:14:00.1<0000:12:01.0<0000:11:00.0<0000:10:01.0<host cpus 0-7 numa 0\n"
              "mlx5_2:1 infiniband active lid 18 virtual of 0000:14:00.0 "
              "0000:14:00.2<0000:12:01.0<0000:11:00.0<0000:10:01.0<host cpus 0-7 numa 0\n");
}

Test(hwloc_machine, a_node_of_memory_alone_belongs_to_the_locality) {
  const Machine machine = load("gpu-memory-nodes");
  EXPECT_TEXT(describe_gpus(machine),
              "0 nvml0 0009:01:00.0<0009:00:00.0<host cpus 0-3 numa 0 2\n"
              "1 nvml1 0019:01:00.0<0019:00:00.0<host cpus 4-7 numa 1 10\n");
  EXPECT_TEXT(describe_cpus(machine),
              "cores 0 1 2 3 4 5 6 7\nnuma 0:0-3 1:4-7 2:0-3 10:4-7\npackages 0:0-3 1:4-7\n");
}

Test(hwloc_machine, no_gpu_no_hca_and_one_of_each) {
  const Machine no_gpu = load("no-gpu");
  EXPECT_TEXT(describe_gpus(no_gpu), "");
  cr_expect_eq(no_gpu.hcas.size(), 1u);
  const Machine no_hca = load("no-hca");
  EXPECT_TEXT(describe_hcas(no_hca), "");
  EXPECT_TEXT(describe_gpus(no_hca),
              "0 nvml0 0000:01:00.0<0000:00:01.0<host cpus 0-3 numa 0\n"
              "1 nvml1 0000:02:00.0<0000:00:02.0<host cpus 0-3 numa 0\n");
  const Machine one = load("one-gpu");
  EXPECT_TEXT(describe_gpus(one), "0 nvml0 0000:01:00.0<0000:00:01.0<host cpus 0-3 numa 0\n");
  EXPECT_TEXT(describe_cpus(one), "cores 0 1 2 3\nnuma 0:0-3\npackages 0:0-3\n");
}

Test(hwloc_machine, a_gpu_without_a_near_hca_is_alone_under_its_host_bridge) {
  EXPECT_TEXT(
      describe_gpus(load("lonely-gpu")),
      "0 nvml0 0000:11:00.0<0000:10:01.0<host cpus 0-3,8-11 numa 0\n"
      "1 nvml1 0000:23:00.0<0000:22:00.0<0000:21:00.0<0000:20:01.0<host cpus 0-3,8-11 numa 0\n"
      "2 nvml2 0000:83:00.0<0000:82:00.0<0000:81:00.0<0000:80:01.0<host cpus 4-7,12-15 numa 1\n");
}

Test(hwloc_machine, the_running_machine_has_the_kernel_s_cpus_whatever_hwloc_s_variables_say) {
  setenv("HWLOC_XMLFILE", "tests/data/topo/one-gpu.hwloc.xml", 1);
  setenv("HWLOC_COMPONENTS", "xml", 1);
  const auto machine = machine_from_hwloc({});
  cr_assert(machine.has_value());
  EXPECT_TEXT(machine->source, "this node");
  const auto mine = process_cpus(0);
  cr_assert(mine.has_value());
  cr_expect(mine->is_subset_of(machine->cpus));
  cr_expect_eq(machine->cpus.count(), static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  cr_expect_geq(machine->numa.size(), 1u);
  EXPECT_TEXT(getenv("HWLOC_XMLFILE"), "tests/data/topo/one-gpu.hwloc.xml");
  EXPECT_TEXT(getenv("HWLOC_COMPONENTS"), "xml");
}

Test(hwloc_machine, roots_that_do_not_belong_together_are_an_error) {
  const auto machine = machine_from_hwloc({"/a/sys", "/b/proc"});
  cr_assert(!machine.has_value());
  cr_expect(machine.error().code == ErrorCode::kTopology);
  EXPECT_TEXT(machine.error().what, "hwloc can't read '/a/sys' and '/b/proc' together");
}
