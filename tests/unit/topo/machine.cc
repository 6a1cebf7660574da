// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/machine.h"

#include "lib/topo/readers.h"

#include <criterion/criterion.h>

using namespace distinit;

namespace {

Gpu gpu_at(const char* bus, int index, int partition = -1) {
  Gpu gpu;
  gpu.pci = *parse_pci_address(bus);
  gpu.index = index;
  gpu.partition = partition;
  return gpu;
}

Hca hca_at(const char* bus, const char* name, int port) {
  Hca hca;
  hca.pci = parse_pci_address(bus);
  hca.name = name;
  hca.port = port;
  return hca;
}

Machine two_nodes() {
  Machine machine;
  machine.cpus = CpuSet::range(0, 7);
  machine.numa = {{0, CpuSet::range(0, 3)}, {8, CpuSet::range(4, 7)}};
  PciNode near;
  near.locality = {CpuSet::range(4, 7), {8}};
  machine.pci = {near, PciNode{}};
  return machine;
}

}  // namespace

Test(machine, vendor_numbers_order_the_gpus) {
  Machine machine;
  machine.gpus = {gpu_at("0:3:0.0", 2), gpu_at("0:9:0.0", 0), gpu_at("0:7:0.0", 1)};
  finish_machine(machine);
  cr_assert_eq(format_pci_address(machine.gpus[0].pci), "0000:09:00.0");
  cr_assert_eq(format_pci_address(machine.gpus[1].pci), "0000:07:00.0");
  cr_assert_eq(format_pci_address(machine.gpus[2].pci), "0000:03:00.0");
  cr_assert_eq(machine.gpus[2].index, 2);
}

Test(machine, vendor_numbers_may_have_gaps) {
  Machine machine;
  machine.gpus = {gpu_at("0:3:0.0", 5), gpu_at("0:9:0.0", 2)};
  finish_machine(machine);
  cr_assert_eq(machine.gpus[0].index, 2);
  cr_assert_eq(machine.gpus[1].index, 5);
}

Test(machine, one_gpu_without_a_number_puts_all_into_bus_order) {
  Machine machine;
  machine.gpus = {gpu_at("1:3:0.0", 0), gpu_at("0:9:0.0", -1), gpu_at("0:7:0.0", 1, 1),
                  gpu_at("0:7:0.0", 2, 0)};
  finish_machine(machine);
  const char* order[] = {"0000:07:00.0", "0000:07:00.0", "0000:09:00.0", "0001:03:00.0"};
  for (int i = 0; i < 4; ++i) {
    cr_assert_eq(machine.gpus[static_cast<size_t>(i)].index, i);
    cr_assert_eq(format_pci_address(machine.gpus[static_cast<size_t>(i)].pci), order[i]);
  }
  cr_assert_eq(machine.gpus[0].partition, 0);
  cr_assert_eq(machine.gpus[1].partition, 1);
}

Test(machine, the_same_number_twice_is_no_vendor_number) {
  Machine machine;
  machine.gpus = {gpu_at("0:9:0.0", 3), gpu_at("0:7:0.0", 3)};
  finish_machine(machine);
  cr_assert_eq(machine.gpus[0].index, 0);
  cr_assert_eq(format_pci_address(machine.gpus[0].pci), "0000:07:00.0");
  cr_assert_eq(machine.gpus[1].index, 1);
}

Test(machine, hcas_stand_by_bus_then_name_then_port_and_soft_ones_last) {
  Machine machine;
  Hca soft;
  soft.name = "rxe0";
  machine.hcas = {soft, hca_at("0:9:0.0", "b", 1), hca_at("0:4:0.0", "z", 2),
                  hca_at("0:4:0.0", "z", 1), hca_at("0:9:0.0", "a", 1)};
  finish_machine(machine);
  std::string names;
  for (const Hca& hca : machine.hcas) {
    names += port_name(hca) + " ";
  }
  cr_assert_eq(names, "z:1 z:2 a:1 b:1 rxe0:1 ");
}

Test(machine, numa_nodes_and_packages_stand_by_number) {
  Machine machine;
  machine.numa = {{8, {}}, {0, {}}};
  machine.packages = {{1, {}}, {0, {}}};
  finish_machine(machine);
  cr_assert_eq(machine.numa[0].number, 0);
  cr_assert_eq(machine.packages[0].number, 0);
}

Test(machine, locality_is_the_tree_s_or_the_whole_machine) {
  const Machine machine = two_nodes();
  cr_assert_eq(locality_of(machine, 0).cpus.format(), "4-7");
  cr_assert_eq(single_numa(locality_of(machine, 0)), 8);
  for (const int not_told : {1, -1, 2}) {
    const Locality whole = locality_of(machine, not_told);
    cr_assert_eq(whole.cpus.format(), "0-7");
    cr_assert(whole.numa == (std::vector<int>{0, 8}));
    cr_assert_eq(single_numa(whole), -1);
  }
  cr_assert_eq(single_numa({CpuSet::range(0, 1), {}}), -1);
}

Test(machine, links_and_states_have_the_manual_s_words) {
  cr_assert_eq(link_text(LinkLayer::kInfiniBand), "infiniband");
  cr_assert_eq(link_text(LinkLayer::kEthernet), "ethernet");
  cr_assert_eq(link_text(LinkLayer::kSlingshot), "slingshot");
  cr_assert_eq(link_text(LinkLayer::kUnknown), "unknown");
  cr_assert_eq(state_text(PortState::kActive), "active");
  cr_assert_eq(state_text(PortState::kDown), "down");
  cr_assert_eq(state_text(PortState::kInit), "init");
  cr_assert_eq(state_text(PortState::kArmed), "armed");
  cr_assert_eq(state_text(PortState::kUnknown), "unknown");
}
