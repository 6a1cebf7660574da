// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/readers.h"
#include "tests/unit/expect_text.h"
#include "tests/unit/topo/fake_tree.h"

namespace distinit {

namespace {

const std::string kNvidia = "proc/driver/nvidia/";
const std::string kKfd = "sys/class/kfd/kfd/topology/nodes/";

Gpu gpu_at(const char* address, GpuVendor vendor) {
  Gpu gpu;
  gpu.pci = *parse_pci_address(address);
  gpu.vendor = vendor;
  gpu.index = -1;
  return gpu;
}

Machine machine_with(const std::vector<Gpu>& gpus) {
  Machine machine;
  machine.gpus = gpus;
  finish_machine(machine);
  return machine;
}

void add_information(const FakeTree& tree, const std::string& address, const std::string& uuid,
                     const std::string& minor) {
  tree.file(kNvidia + "gpus/" + address + "/information",
            "Model: \t\t NVIDIA H100\nIRQ:   \t\t 18\nGPU UUID: \t " + uuid +
                "\nBus Location: \t " + address + "\nDevice Minor: \t " + minor +
                "\nGPU Excluded:\t No\n");
}

void add_kfd_node(const FakeTree& tree, int number, int simds, int location, int domain,
                  const std::string& unique_id) {
  tree.file(kKfd + std::to_string(number) + "/properties",
            "cpu_cores_count " + std::string(simds == 0 ? "24" : "0") + "\nsimd_count " +
                std::to_string(simds) + "\nlocation_id " + std::to_string(location) + "\ndomain " +
                std::to_string(domain) + "\nunique_id " + unique_id + "\n");
}

}  // namespace

Test(gpu_facts, uuid_and_minor_by_bus_address) {
  const FakeTree tree("facts");
  add_information(tree, "0000:4e:00.0", "GPU-11111111-2222-3333-4444-555555555555", "1");
  add_information(tree, "0000:5f:00.0", "GPU-" + std::string(8, '?') + "-" + std::string(4, '?'),
                  "0");
  Machine machine = machine_with(
      {gpu_at("0000:5f:00.0", GpuVendor::kNvidia), gpu_at("0000:4e:00.0", GpuVendor::kNvidia)});
  read_gpu_facts(tree.roots(), machine);
  cr_assert_eq(machine.gpus.size(), 2);
  EXPECT_TEXT(machine.gpus[0].uuid, "GPU-11111111-2222-3333-4444-555555555555");
  cr_expect_eq(machine.gpus[0].minor, 1);
  cr_expect_eq(machine.gpus[0].index, 0);
  EXPECT_TEXT(machine.gpus[1].uuid, "");
  cr_expect_eq(machine.gpus[1].minor, 0);
}

Test(gpu_facts, without_the_folders_nothing_changes) {
  const FakeTree tree("facts");
  const Machine before = machine_with(
      {gpu_at("0000:4e:00.0", GpuVendor::kNvidia), gpu_at("0000:5f:00.0", GpuVendor::kAmd)});
  Machine after = before;
  read_gpu_facts(tree.roots(), after);
  cr_expect(after == before);
  read_gpu_facts({"/nowhere", "/nowhere"}, after);
  cr_expect(after == before);
}

Test(gpu_facts, broken_files_say_nothing) {
  const FakeTree tree("facts");
  tree.file(kNvidia + "gpus/0000:01:00.0/information", "");
  tree.folder(kNvidia + "gpus/0000:02:00.0/information");
  tree.file(kNvidia + "gpus/0000:03:00.0/information",
            std::string(9000, '\xff') + "\nDevice Minor: 3\n");
  tree.file(kNvidia + "gpus/0000:04:00.0/information", "GPU UUID:\nDevice Minor: many\n");
  add_kfd_node(tree, 0, 0, 0, 0, "0");
  tree.file(kKfd + "1/properties", std::string("\0simd_count\n", 12));
  tree.folder(kKfd + "2/properties");
  Machine machine = machine_with(
      {gpu_at("0000:01:00.0", GpuVendor::kNvidia), gpu_at("0000:02:00.0", GpuVendor::kNvidia),
       gpu_at("0000:03:00.0", GpuVendor::kNvidia), gpu_at("0000:04:00.0", GpuVendor::kNvidia),
       gpu_at("0000:05:00.0", GpuVendor::kAmd)});
  const Machine before = machine;
  read_gpu_facts(tree.roots(), machine);
  cr_expect(machine == before);
}

Test(gpu_facts, mig_instances_become_entries_in_order) {
  const FakeTree tree("facts");
  add_information(tree, "0000:01:00.0", "GPU-aaaaaaaa-0000-0000-0000-000000000000", "5");
  add_information(tree, "0000:02:00.0", "GPU-bbbbbbbb-0000-0000-0000-000000000000", "6");
  tree.file(kNvidia + "capabilities/gpu5/mig/gi10/ci0/access", "DeviceFileMinor: 90\n");
  tree.file(kNvidia + "capabilities/gpu5/mig/gi9/ci1/access", "DeviceFileMinor: 81\n");
  tree.file(kNvidia + "capabilities/gpu5/mig/gi9/ci0/access", "DeviceFileMinor: 80\n");
  tree.file(kNvidia + "capabilities/gpu6/mig/config", "");
  Machine machine = machine_with(
      {gpu_at("0000:01:00.0", GpuVendor::kNvidia), gpu_at("0000:02:00.0", GpuVendor::kNvidia)});
  read_gpu_facts(tree.roots(), machine);
  cr_assert_eq(machine.gpus.size(), 4);
  const char* names[] = {"MIG 9/0", "MIG 9/1", "MIG 10/0", ""};
  for (int i = 0; i < 4; ++i) {
    const Gpu& gpu = machine.gpus[static_cast<size_t>(i)];
    EXPECT_TEXT(gpu.name, names[i]);
    cr_expect_eq(gpu.index, i);
    cr_expect_eq(gpu.partition, i < 3 ? i : -1);
    cr_expect_eq(gpu.minor, i < 3 ? 5 : 6);
    EXPECT_TEXT(gpu.uuid.substr(0, 5), i < 3 ? "GPU-a" : "GPU-b");
  }
}

Test(gpu_facts, kfd_nodes_of_one_function_are_partitions) {
  const FakeTree tree("facts");
  add_kfd_node(tree, 0, 0, 0, 0, "0");
  // 0001:02:00.0, whose partitions differ in the function and in the high bits.
  add_kfd_node(tree, 1, 152, 0x200, 1, "1");
  add_kfd_node(tree, 2, 152, 0x201, 1, "2");
  add_kfd_node(tree, 10, 152, static_cast<int>(0x20000202), 1, "3");
  add_kfd_node(tree, 3, 304, 0x200, 0, "18364758544493064720");
  Machine machine = machine_with(
      {gpu_at("0000:02:00.0", GpuVendor::kAmd), gpu_at("0001:02:00.0", GpuVendor::kAmd)});
  read_gpu_facts(tree.roots(), machine);
  cr_assert_eq(machine.gpus.size(), 4);
  const char* uuids[] = {"GPU-0000000000000001", "GPU-0000000000000002", "GPU-fedcba9876543210",
                         "GPU-0000000000000003"};
  const int partitions[] = {0, 1, -1, 2};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_TEXT(machine.gpus[i].uuid, uuids[i]);
    cr_expect_eq(machine.gpus[i].partition, partitions[i]);
    cr_expect_eq(machine.gpus[i].pci.domain, i == 2 ? 0U : 1U);
  }
}

Test(gpu_facts, amd_gpus_are_counted_as_rocm_does) {
  const FakeTree tree("facts");
  add_kfd_node(tree, 2, 304, 0x6300, 0, "0");
  add_kfd_node(tree, 3, 304, 0x300, 0, "0");
  Machine machine = machine_with(
      {gpu_at("0000:03:00.0", GpuVendor::kAmd), gpu_at("0000:63:00.0", GpuVendor::kAmd)});
  Machine mixed = machine_with({gpu_at("0000:03:00.0", GpuVendor::kAmd),
                                gpu_at("0000:63:00.0", GpuVendor::kAmd),
                                gpu_at("0000:05:00.0", GpuVendor::kNvidia)});
  read_gpu_facts(tree.roots(), machine);
  EXPECT_TEXT(format_pci_address(machine.gpus[0].pci), "0000:63:00.0");
  EXPECT_TEXT(format_pci_address(machine.gpus[1].pci), "0000:03:00.0");
  read_gpu_facts(tree.roots(), mixed);
  EXPECT_TEXT(format_pci_address(mixed.gpus[0].pci), "0000:03:00.0");
  EXPECT_TEXT(format_pci_address(mixed.gpus[1].pci), "0000:05:00.0");
  EXPECT_TEXT(format_pci_address(mixed.gpus[2].pci), "0000:63:00.0");
}

Test(gpu_facts, partitions_of_the_source_stay) {
  const FakeTree tree("facts");
  add_kfd_node(tree, 0, 152, 0x200, 0, "7");
  add_kfd_node(tree, 1, 152, 0x200, 0, "8");
  Gpu first = gpu_at("0000:02:00.0", GpuVendor::kAmd);
  Gpu second = first;
  first.partition = 0;
  second.partition = 1;
  const Machine before = machine_with({first, second});
  Machine after = before;
  read_gpu_facts(tree.roots(), after);
  cr_expect(after == before);
}

}  // namespace distinit
