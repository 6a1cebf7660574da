// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/readers.h"
#include "tests/unit/expect_text.h"
#include "tests/unit/topo/fake_tree.h"

namespace distinit {

namespace {

const std::string kVerbs = "sys/class/infiniband/";
const std::string kPci = "sys/devices/pci0000:00/";
constexpr const char* kLinkLocal = "fe80:0000:0000:0000:0e42:a1ff:fe12:3456";
constexpr const char* kIpv4 = "0000:0000:0000:0000:0000:ffff:0a00:0001";
constexpr const char* kZero = "0000:0000:0000:0000:0000:0000:0000:0000";

struct Port {
  std::string state = "4: ACTIVE";
  std::string link = "InfiniBand";
  std::string rate = "200 Gb/sec (4X HDR)";
  std::string lid = "0x0";
};

/// As the kernel has it: the class's entry is a link into the device's folder.
void add_device(const FakeTree& tree, const std::string& name, const std::string& address) {
  tree.folder(kPci + address + "/infiniband/" + name);
  tree.link(kPci + address + "/infiniband/" + name + "/device", "../../../" + address);
  tree.link(kVerbs + name, "../../devices/pci0000:00/" + address + "/infiniband/" + name);
}

void add_port(const FakeTree& tree, const std::string& name, int number, const Port& port) {
  const std::string folder = kVerbs + name + "/ports/" + std::to_string(number) + "/";
  tree.file(folder + "state", port.state + "\n");
  tree.file(folder + "phys_state", "5: LinkUp\n");
  tree.file(folder + "link_layer", port.link + "\n");
  tree.file(folder + "rate", port.rate + "\n");
  tree.file(folder + "lid", port.lid + "\n");
}

void add_gid(const FakeTree& tree, const std::string& name, int index, const std::string& gid,
             const std::string& type, const std::string& interface) {
  const std::string folder = kVerbs + name + "/ports/1/";
  const std::string number = std::to_string(index);
  tree.file(folder + "gids/" + number, gid + "\n");
  if (!type.empty()) {
    tree.file(folder + "gid_attrs/types/" + number, type + "\n");
    tree.file(folder + "gid_attrs/ndevs/" + number, interface + "\n");
  }
}

std::vector<Hca> hcas_of(const FakeTree& tree) {
  Machine machine;
  read_hcas(tree.roots(), machine);
  return machine.hcas;
}

std::string address_of(const std::optional<PciAddress>& address) {
  return address ? format_pci_address(*address) : "none";
}

}  // namespace

Test(sysfs_hcas, an_infiniband_port_that_is_up) {
  const FakeTree tree("hcas");
  add_device(tree, "mlx5_0", "0000:4e:00.0");
  add_port(tree, "mlx5_0", 1, {.lid = "0x1a"});
  add_gid(tree, "mlx5_0", 0, "fe80:0000:0000:0000:9803:9b03:00a4:1234", "IB/RoCE v1", "");
  tree.folder(kPci + "0000:4e:00.0/net/ib0");
  const auto hcas = hcas_of(tree);
  cr_assert_eq(hcas.size(), 1);
  const Hca& hca = hcas[0];
  EXPECT_TEXT(port_name(hca), "mlx5_0:1");
  EXPECT_TEXT(address_of(hca.pci), "0000:4e:00.0");
  cr_expect_eq(hca.link, LinkLayer::kInfiniBand);
  cr_expect_eq(hca.state, PortState::kActive);
  cr_expect_eq(hca.rate_gbps, 200);
  cr_expect_eq(hca.lid, 0x1a);
  cr_expect_eq(hca.pci_node, -1);
  cr_expect_not(hca.is_virtual);
  cr_expect_eq(hca.gids.size(), 1);
  EXPECT_TEXT(hca.interface, "ib0");
}

Test(sysfs_hcas, states_of_a_port) {
  const FakeTree tree("hcas");
  const std::pair<const char*, PortState> cases[] = {
      {"1: DOWN", PortState::kDown},         {"2: INIT", PortState::kInit},
      {"3: ARMED", PortState::kArmed},       {"4: ACTIVE", PortState::kActive},
      {"5: ACTIVE_DEFER", PortState::kDown}, {"0: NOP", PortState::kUnknown},
      {"up", PortState::kUnknown},           {"", PortState::kUnknown},
  };
  add_device(tree, "mlx5_0", "0000:4e:00.0");
  for (const auto& [text, state] : cases) {
    add_port(tree, "mlx5_0", 1, {.state = text, .rate = "2.5 Gb/sec (1X SDR)"});
    const auto hcas = hcas_of(tree);
    cr_assert_eq(hcas.size(), 1);
    cr_expect_eq(hcas[0].state, state, "%s", text);
    cr_expect_eq(hcas[0].rate_gbps, 2);
    cr_expect_eq(hcas[0].lid, -1);
  }
}

Test(sysfs_hcas, the_gid_table_of_roce) {
  const FakeTree tree("hcas");
  add_device(tree, "rocep1s0f0", "0000:01:00.0");
  add_port(tree, "rocep1s0f0", 1, {.link = "Ethernet"});
  add_gid(tree, "rocep1s0f0", 0, kLinkLocal, "IB/RoCE v1", "ens1f0");
  add_gid(tree, "rocep1s0f0", 1, kLinkLocal, "RoCE v2", "ens1f0");
  add_gid(tree, "rocep1s0f0", 2, kZero, "", "");
  add_gid(tree, "rocep1s0f0", 3, kIpv4, "RoCE v2", "ens1f0.100");
  add_gid(tree, "rocep1s0f0", 10, kIpv4, "of tomorrow", "ens1f0");
  add_gid(tree, "rocep1s0f0", 11, "fe80::1", "RoCE v2", "ens1f0");
  add_gid(tree, "rocep1s0f0", 12, "", "RoCE v2", "ens1f0");
  const auto hcas = hcas_of(tree);
  cr_assert_eq(hcas.size(), 1);
  cr_expect_eq(hcas[0].link, LinkLayer::kEthernet);
  const std::vector<Gid> expected = {
      {0, kLinkLocal, GidType::kInfiniBandOrRoceV1, "ens1f0"},
      {1, kLinkLocal, GidType::kRoceV2, "ens1f0"},
      {3, kIpv4, GidType::kRoceV2, "ens1f0.100"},
      {10, kIpv4, GidType::kUnknown, "ens1f0"},
  };
  cr_expect(hcas[0].gids == expected);
  EXPECT_TEXT(hcas[0].interface, "ens1f0");
}

Test(sysfs_hcas, soft_roce_has_no_device) {
  const FakeTree tree("hcas");
  tree.folder("sys/devices/virtual/infiniband/rxe0");
  tree.link(kVerbs + "rxe0", "../../devices/virtual/infiniband/rxe0");
  add_port(tree, "rxe0", 1, {.link = "Ethernet"});
  add_gid(tree, "rxe0", 1, kIpv4, "RoCE v2", "eth0");
  const auto hcas = hcas_of(tree);
  cr_assert_eq(hcas.size(), 1);
  EXPECT_TEXT(address_of(hcas[0].pci), "none");
  EXPECT_TEXT(hcas[0].interface, "eth0");
  cr_expect_not(hcas[0].is_virtual);
}

Test(sysfs_hcas, a_virtual_function_names_its_physical_one) {
  const FakeTree tree("hcas");
  add_device(tree, "mlx5_0", "0000:4e:00.0");
  add_device(tree, "mlx5_7", "0000:4e:00.2");
  tree.link(kPci + "0000:4e:00.2/physfn", "../0000:4e:00.0");
  const auto hcas = hcas_of(tree);
  cr_assert_eq(hcas.size(), 2);
  cr_expect_not(hcas[0].is_virtual);
  EXPECT_TEXT(address_of(hcas[0].physical_function), "none");
  cr_expect(hcas[1].is_virtual);
  EXPECT_TEXT(address_of(hcas[1].physical_function), "0000:4e:00.0");
}

Test(sysfs_hcas, a_subfunction_belongs_to_its_pci_function) {
  const FakeTree tree("hcas");
  const std::string part = kPci + "0000:4e:00.0/mlx5_core.sf.2/";
  tree.folder(part + "infiniband/mlx5_9");
  tree.link(part + "infiniband/mlx5_9/device", "../../../mlx5_core.sf.2");
  tree.link(kVerbs + "mlx5_9",
            "../../devices/pci0000:00/0000:4e:00.0/mlx5_core.sf.2/infiniband/mlx5_9");
  const auto hcas = hcas_of(tree);
  cr_assert_eq(hcas.size(), 1);
  EXPECT_TEXT(address_of(hcas[0].pci), "0000:4e:00.0");
}

Test(sysfs_hcas, two_ports_of_one_device_have_their_own_interfaces) {
  const FakeTree tree("hcas");
  add_device(tree, "mlx4_0", "0000:03:00.0");
  add_port(tree, "mlx4_0", 1, {.state = "1: DOWN", .rate = "10 Gb/sec (4X)"});
  add_port(tree, "mlx4_0", 2, {.link = "Ethernet", .rate = "40 Gb/sec (4X QDR)"});
  tree.file(kPci + "0000:03:00.0/net/ens9/dev_port", "1\n");
  tree.file(kPci + "0000:03:00.0/net/ib9/dev_port", "0\n");
  const auto hcas = hcas_of(tree);
  cr_assert_eq(hcas.size(), 2);
  EXPECT_TEXT(port_name(hcas[0]), "mlx4_0:1");
  EXPECT_TEXT(hcas[0].interface, "ib9");
  cr_expect_eq(hcas[0].state, PortState::kDown);
  EXPECT_TEXT(port_name(hcas[1]), "mlx4_0:2");
  EXPECT_TEXT(hcas[1].interface, "ens9");
  cr_expect_eq(hcas[1].rate_gbps, 40);
}

Test(sysfs_hcas, a_bond_has_the_interface_of_its_gids) {
  const FakeTree tree("hcas");
  add_device(tree, "mlx5_bond_0", "0000:81:00.0");
  add_port(tree, "mlx5_bond_0", 1, {.link = "Ethernet"});
  add_gid(tree, "mlx5_bond_0", 0, kLinkLocal, "RoCE v2", "bond0");
  tree.folder(kPci + "0000:81:00.0/net/ens1f0");
  const auto hcas = hcas_of(tree);
  cr_assert_eq(hcas.size(), 1);
  EXPECT_TEXT(hcas[0].name, "mlx5_bond_0");
  EXPECT_TEXT(hcas[0].interface, "bond0");
}

Test(sysfs_hcas, efa_has_a_link_layer_of_its_own) {
  const FakeTree tree("hcas");
  add_device(tree, "rdmap197s0", "0000:c5:00.0");
  add_port(tree, "rdmap197s0", 1, {.link = "Unknown", .rate = "100 Gb/sec (4X EDR)"});
  const auto hcas = hcas_of(tree);
  cr_assert_eq(hcas.size(), 1);
  EXPECT_TEXT(hcas[0].name, "rdmap197s0");
  cr_expect_eq(hcas[0].link, LinkLayer::kUnknown);
  cr_expect_eq(hcas[0].state, PortState::kActive);
}

Test(sysfs_hcas, slingshot_is_a_network_interface_of_hpe) {
  const FakeTree tree("hcas");
  const std::string interfaces[][3] = {
      {"hsn0", "0x17db", "up"}, {"hsn1", "0x17db", "down"}, {"eth0", "0x8086", "up"}};
  int bus = 1;
  for (const auto& [name, vendor, state] : interfaces) {
    const std::string address = "0000:0" + std::to_string(bus++) + ":00.0";
    tree.file(kPci + address + "/vendor", vendor + "\n");
    tree.file(kPci + address + "/net/" + name + "/operstate", state + "\n");
    tree.file(kPci + address + "/net/" + name + "/speed", state == "up" ? "200000\n" : "-1\n");
    tree.link(kPci + address + "/net/" + name + "/device", "../../../" + address);
    tree.link("sys/class/net/" + name, "../../devices/pci0000:00/" + address + "/net/" + name);
  }
  tree.folder("sys/class/net/lo");
  const auto hcas = hcas_of(tree);
  cr_assert_eq(hcas.size(), 2);
  EXPECT_TEXT(port_name(hcas[0]), "hsn0:1");
  EXPECT_TEXT(address_of(hcas[0].pci), "0000:01:00.0");
  cr_expect_eq(hcas[0].link, LinkLayer::kSlingshot);
  cr_expect_eq(hcas[0].state, PortState::kActive);
  cr_expect_eq(hcas[0].rate_gbps, 200);
  EXPECT_TEXT(hcas[0].interface, "hsn0");
  EXPECT_TEXT(port_name(hcas[1]), "hsn1:1");
  cr_expect_eq(hcas[1].state, PortState::kDown);
  cr_expect_eq(hcas[1].rate_gbps, 0);
}

Test(sysfs_hcas, a_recorded_tree_may_have_folders_for_links) {
  const FakeTree tree("hcas");
  tree.file(kVerbs + "mlx5_0/device/uevent", "DRIVER=mlx5_core\nPCI_SLOT_NAME=0001:81:00.3\n");
  tree.file(kVerbs + "mlx5_0/device/physfn/uevent", "PCI_SLOT_NAME=0001:81:00.0\n");
  add_port(tree, "mlx5_0", 1, {});
  tree.link(kVerbs + "mlx5_1/device", "../../../devices/that/is/not/there/0000:81:00.1");
  const auto hcas = hcas_of(tree);
  cr_assert_eq(hcas.size(), 2);
  EXPECT_TEXT(hcas[0].name, "mlx5_1");
  EXPECT_TEXT(address_of(hcas[0].pci), "0000:81:00.1");
  cr_expect_eq(hcas[0].port, 1);
  cr_expect_eq(hcas[0].state, PortState::kUnknown);
  EXPECT_TEXT(address_of(hcas[1].pci), "0001:81:00.3");
  EXPECT_TEXT(address_of(hcas[1].physical_function), "0001:81:00.0");
}

Test(sysfs_hcas, the_place_in_the_tree_is_found) {
  const FakeTree tree("hcas");
  add_device(tree, "mlx5_0", "0000:4e:00.0");
  Machine machine;
  machine.pci.resize(2);
  machine.pci[0].kind = PciKind::kHostBridge;
  machine.pci[0].address = *parse_pci_address("0000:4e:00.0");
  machine.pci[1].parent = 0;
  machine.pci[1].address = *parse_pci_address("0000:4e:00.0");
  machine.hcas.resize(1);
  read_hcas(tree.roots(), machine);
  cr_assert_eq(machine.hcas.size(), 1);
  EXPECT_TEXT(machine.hcas[0].name, "mlx5_0");
  cr_expect_eq(machine.hcas[0].pci_node, 1);
}

Test(sysfs_hcas, what_cannot_be_read_is_unknown) {
  const FakeTree tree("hcas");
  const std::string junk(5000, '\xfe');
  add_device(tree, "mlx5_0", "0000:4e:00.0");
  add_port(tree, "mlx5_0", 1, {junk, junk, junk, junk});
  add_gid(tree, "mlx5_0", 0, junk, "RoCE v2", "eth0");
  add_device(tree, "mlx5_1", "0000:4f:00.0");
  add_port(tree, "mlx5_1", 1, {"", "", "", ""});
  add_device(tree, "mlx5_2", "0000:50:00.0");
  for (const char* name : {"state", "link_layer", "rate", "lid", "gids/0", "gid_attrs/types/0"}) {
    tree.folder(kVerbs + "mlx5_2/ports/1/" + name);
  }
  tree.file(kVerbs + "mlx5_3", "a file\n");
  tree.file(kVerbs + "mlx5_4/device", "a file\n");
  tree.file(kVerbs + "mlx5_4/ports/one/state", "4: ACTIVE\n");
  tree.link(kVerbs + "mlx5_5", "mlx5_5");
  const auto hcas = hcas_of(tree);
  cr_assert_eq(hcas.size(), 4);
  for (const Hca& hca : hcas) {
    cr_expect_eq(hca.port, 1, "%s", hca.name.c_str());
    cr_expect_eq(hca.state, PortState::kUnknown, "%s", hca.name.c_str());
    cr_expect_eq(hca.link, LinkLayer::kUnknown, "%s", hca.name.c_str());
    cr_expect_eq(hca.rate_gbps, 0, "%s", hca.name.c_str());
    cr_expect_eq(hca.lid, -1, "%s", hca.name.c_str());
    cr_expect(hca.gids.empty(), "%s", hca.name.c_str());
  }
}

Test(sysfs_hcas, no_class_folder_is_no_hca) {
  const FakeTree tree("hcas");
  cr_expect(hcas_of(tree).empty());
}

Test(sysfs_hcas, no_more_than_256_gids_are_read) {
  const FakeTree tree("hcas");
  add_device(tree, "mlx5_0", "0000:4e:00.0");
  for (int i = 0; i < 300; ++i) {
    add_gid(tree, "mlx5_0", i, kIpv4, "", "");
  }
  const auto hcas = hcas_of(tree);
  cr_assert_eq(hcas.size(), 1);
  cr_assert_eq(hcas[0].gids.size(), 256);
  cr_expect_eq(hcas[0].gids.back().index, 255);
}

}  // namespace distinit
