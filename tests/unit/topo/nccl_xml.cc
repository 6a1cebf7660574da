// SPDX-License-Identifier: Apache-2.0
#include "lib/base/fd.h"
#include "lib/topo/readers.h"
#include "tests/unit/expect_text.h"

#include <random>

namespace distinit {

namespace {

Machine machine_of(const std::string& xml) {
  auto machine = machine_from_nccl_xml(xml, "m.xml");
  cr_assert(machine.has_value(), "%s", machine ? "" : machine.error().what.c_str());
  return *std::move(machine);
}

Machine recorded(const std::string& name) {
  const auto xml = read_file("tests/data/topo/" + name + ".nccl.xml", 1 << 20);
  cr_assert(xml.has_value(), "%s", xml ? "" : xml.error().what.c_str());
  return machine_of(*xml);
}

/// What stands between <system> and </system> is the argument.
Machine machine_in(const std::string& cpus) {
  return machine_of("<system version=\"1\">\n" + cpus + "</system>\n");
}

/// The one error that this gives; it must be kTopology.
std::string error_of(const std::string& cpus) {
  const auto machine =
      machine_from_nccl_xml("<system version=\"1\">\n" + cpus + "</system>", "m.xml");
  cr_assert(!machine.has_value(), "no error for %s", cpus.c_str());
  cr_expect_eq(machine.error().code, ErrorCode::kTopology);
  cr_expect(!machine.error().hint.empty());
  return machine.error().what;
}

std::string pci_text(const PciAddress& address) {
  return format_pci_address(address);
}

/// "name:port pci rate", one a line.
std::string hca_lines(const Machine& machine) {
  std::string out;
  for (const Hca& hca : machine.hcas) {
    out += port_name(hca) + " " + (hca.pci ? pci_text(*hca.pci) : "none") + " " +
           std::to_string(hca.rate_gbps) + "\n";
  }
  return out;
}

/// "index pci partition name", one a line.
std::string gpu_lines(const Machine& machine) {
  std::string out;
  for (const Gpu& gpu : machine.gpus) {
    out += std::to_string(gpu.index) + " " + pci_text(gpu.pci) + " " +
           std::to_string(gpu.partition) + " " + gpu.name + "\n";
  }
  return out;
}

const PciNode& node_of(const Machine& machine, int node) {
  cr_assert(node >= 0 && static_cast<size_t>(node) < machine.pci.size());
  return machine.pci[static_cast<size_t>(node)];
}

}  // namespace

Test(nccl_xml, a_clouds_file_has_neither_vendors_nor_names) {
  const Machine machine = recorded("cloud-vm");
  cr_expect(machine.is_nccl);
  EXPECT_TEXT(machine.source, "m.xml");
  EXPECT_TEXT(machine.cpus.format(), "0-7,32-39");
  cr_expect_eq(machine.cores.size(), 16);
  cr_expect(machine.packages.empty());
  cr_assert_eq(machine.numa.size(), 2);
  EXPECT_TEXT(machine.numa[1].cpus.format(), "32-39");
  EXPECT_TEXT(gpu_lines(machine), "0 0001:00:00.0 -1 \n1 0002:00:00.0 -1 \n");
  cr_expect_eq(machine.gpus[0].vendor, GpuVendor::kOther);
  EXPECT_TEXT(hca_lines(machine),
              "nic@0101:00:00.0:1 0101:00:00.0 0\nnic@0102:00:00.0:1 0102:00:00.0 0\n");
  cr_expect_eq(machine.hcas[0].link, LinkLayer::kInfiniBand);
  cr_expect_eq(machine.hcas[1].link, LinkLayer::kEthernet);
  cr_expect_eq(machine.hcas[1].state, PortState::kUnknown);
  EXPECT_TEXT(locality_of(machine, machine.hcas[1].pci_node).cpus.format(), "32-39");
}

Test(nccl_xml, a_dump_of_nccl_has_numbers_names_and_ports) {
  const Machine machine = recorded("nccl-dump");
  EXPECT_TEXT(gpu_lines(machine),
              "0 0000:21:00.0 -1 gpu0\n1 0000:42:00.0 -1 gpu1\n2 0000:03:00.0 -1 gpu2\n");
  cr_expect_eq(machine.gpus[0].vendor, GpuVendor::kNvidia);
  EXPECT_TEXT(hca_lines(machine),
              "mlx5_10:1 0000:02:00.0 400\nmlx5_2:1 0000:43:00.0 100\n"
              "mlx5_2:2 0000:43:00.0 100\ntunnel0:1 none 10\n");
}

Test(nccl_xml, the_tree_is_the_nesting) {
  const Machine machine = recorded("nccl-dump");
  const PciNode& gpu = node_of(machine, machine.gpus[2].pci_node);
  const PciNode& nic = node_of(machine, machine.hcas[0].pci_node);
  cr_expect_eq(gpu.kind, PciKind::kDevice);
  cr_expect_eq(gpu.parent, nic.parent);
  cr_expect_eq(gpu.vendor, 0x10de);
  cr_expect_eq(gpu.device, 0x2330);
  cr_expect_eq(gpu.class_id, 0x0302);
  const PciNode& bridge = node_of(machine, gpu.parent);
  cr_expect_eq(bridge.kind, PciKind::kSwitch);
  EXPECT_TEXT(pci_text(bridge.address), "0000:01:00.0");
  const PciNode& root = node_of(machine, bridge.parent);
  cr_expect_eq(root.kind, PciKind::kHostBridge);
  cr_expect_eq(root.parent, -1);
  cr_expect_eq(node_of(machine, machine.gpus[0].pci_node).parent, bridge.parent);
  cr_expect_eq(machine.hcas[3].pci_node, bridge.parent);
  cr_expect_eq(single_numa(gpu.locality), 0);
  cr_expect_eq(single_numa(node_of(machine, machine.gpus[1].pci_node).locality), 1);
}

Test(nccl_xml, bus_ids_that_come_again_or_in_circles_do_no_harm) {
  const Machine machine = machine_in(R"(<cpu numaid="0" affinity="f">
    <pci busid="0000:c1:00.0" class="0x060400"><pci busid="0000:c5:00.0" class="0x060400">
      <pci busid="0000:c1:00.0" class="0x060400"><pci busid="0000:01:00.0" class="0x030200"/></pci></pci>
      <pci busid="0000:c5:00.0" class="0x060400"><pci busid="0000:02:00.0" class="0x030200"/></pci>
    </pci></cpu>)");
  cr_assert_eq(machine.pci.size(), 7);
  for (size_t i = 0; i < machine.pci.size(); ++i) {
    cr_expect_lt(machine.pci[i].parent, static_cast<int>(i));
  }
  int depth = 0;
  for (int at = machine.gpus[0].pci_node; at >= 0; at = node_of(machine, at).parent) {
    ++depth;
  }
  cr_expect_eq(depth, 5);
  EXPECT_TEXT(gpu_lines(machine), "0 0000:01:00.0 -1 \n1 0000:02:00.0 -1 \n");
}

Test(nccl_xml, which_functions_are_gpus) {
  const struct {
    const char* attributes;
    bool is_gpu;
  } cases[] = {
      {R"(class="0x030200" vendor="0x10de")", true},
      {R"(class="0x030000" vendor="0x10de")", true},
      {R"(class="0x068000" vendor="0x10de")", false},
      {R"(class="0x120000" vendor="0x1002")", true},
      {R"(class="0x038000" vendor="0x1002")", true},
      {R"(class="0x038000" vendor="0x8086")", true},
      {R"(class="0x030000" vendor="0x8086")", false},
      {R"(class="0x030000" vendor="0x102b")", false},
      {R"(class="0x030000")", true},
      {R"(class="0x0302")", true},
      {R"(class="030200")", true},
      {R"(class="0x010802")", false},
      {R"(class="")", false},
      {"", false},
  };
  for (const auto& [attributes, is_gpu] : cases) {
    const Machine machine = machine_in(std::string("<cpu affinity='1'><pci busid='0000:01:00.0' ") +
                                       attributes + "/></cpu>");
    cr_expect_eq(machine.gpus.size(), is_gpu ? 1 : 0, "%s", attributes);
  }
}

Test(nccl_xml, a_gpu_element_makes_a_gpu_of_any_function) {
  const Machine machine = machine_in(R"(<cpu numaid="0" affinity="1">
    <pci busid="0000:01:00.0"><gpu dev="5"/></pci>
    <pci busid="0000:02:00.0" class="0x0b4000" vendor="0x1da3"><gpu/></pci></cpu>)");
  // One has no number, so none counts.
  EXPECT_TEXT(gpu_lines(machine), "0 0000:01:00.0 -1 gpu5\n1 0000:02:00.0 -1 \n");
}

Test(nccl_xml, numbers_that_come_again_do_not_count) {
  const Machine machine = machine_in(R"(<cpu numaid="0" affinity="1">
    <pci busid="0000:02:00.0" class="0x030200"><gpu dev="0"/></pci>
    <pci busid="0000:01:00.0" class="0x030200"><gpu dev="0"/></pci></cpu>)");
  EXPECT_TEXT(gpu_lines(machine), "0 0000:01:00.0 -1 gpu0\n1 0000:02:00.0 -1 gpu0\n");
}

Test(nccl_xml, several_gpus_of_a_function_are_partitions) {
  const Machine machine = machine_in(R"(<cpu numaid="0" affinity="1">
    <pci busid="0000:01:00.0" class="0x120000" vendor="0x1002">
      <gpu dev="0"/><gpu dev="1"/><gpu dev="2"/></pci></cpu>)");
  EXPECT_TEXT(gpu_lines(machine),
              "0 0000:01:00.0 0 gpu0\n1 0000:01:00.0 1 gpu1\n2 0000:01:00.0 2 gpu2\n");
}

Test(nccl_xml, merged_devices_are_taken_apart) {
  const Machine machine = machine_in(R"(<cpu numaid="0" affinity="1">
    <pci busid="0000:01:00.0" class="0x060400">
      <nic><net name="mlx5_0+mlx5_1" speed="800000" port="1"/></nic>
      <pci busid="0000:02:00.0" class="0x020700"><nic><net name="mlx5_0" speed="400000"/></nic></pci>
    </pci></cpu>)");
  EXPECT_TEXT(hca_lines(machine), "mlx5_1:1 0000:01:00.0 800\nmlx5_0:1 0000:02:00.0 400\n");
}

Test(nccl_xml, a_net_without_a_name_has_that_of_its_function) {
  const Machine machine = machine_in(R"(<cpu numaid="0" affinity="1">
    <pci busid="0000:02:00.0"><nic><net port="2" speed="fast"/></nic></pci>
    <pci busid="0000:03:00.0"><nic/></pci><nic><net port="1"/></nic></cpu>)");
  EXPECT_TEXT(hca_lines(machine),
              "nic@0000:02:00.0:2 0000:02:00.0 0\nnic@0000:03:00.0:1 0000:03:00.0 0\n");
  cr_expect_eq(machine.hcas[0].link, LinkLayer::kUnknown);
}

Test(nccl_xml, what_is_in_the_wrong_place_is_left_out) {
  const Machine machine = machine_in(R"(<pci busid="none"/><gpu dev="0"/><cpu affinity="1">
    <net name="a"/><gpu dev="1"/><cpu affinity="junk"/><future><pci busid="none"/></future>
    <pci busid="0000:01:00.0" class="0x030200"><gpu dev="0"><pci busid="none"/></gpu></pci></cpu>)");
  EXPECT_TEXT(gpu_lines(machine), "0 0000:01:00.0 -1 gpu0\n");
  cr_expect(machine.hcas.empty());
  cr_expect_eq(machine.pci.size(), 2);
}

Test(nccl_xml, an_unknown_numa_node_is_none) {
  const Machine machine =
      machine_in(R"(<cpu numaid="-1"><pci busid="0000:01:00.0" class="0x030200"/>
    </cpu><cpu numaid="3" affinity="f0"/><cpu numaid="3" affinity="f00"/>)");
  cr_assert_eq(machine.numa.size(), 1);
  cr_expect_eq(machine.numa[0].number, 3);
  EXPECT_TEXT(machine.numa[0].cpus.format(), "4-11");
  cr_expect(node_of(machine, machine.gpus[0].pci_node).locality == Locality());
}

Test(nccl_xml, malformed_attributes_name_the_line_and_the_value) {
  EXPECT_TEXT(error_of("<cpu affinity='1'>\n<pci busid='0000:0g:00.0'/></cpu>"),
              "m.xml: line 3: busid '0000:0g:00.0' is not a PCI address");
  EXPECT_TEXT(error_of("<cpu affinity='1'>\n\n<pci class='0x030200'/></cpu>"),
              "m.xml: line 4: busid '' is not a PCI address");
  EXPECT_TEXT(error_of("<cpu affinity='1'><pci busid='0000:01:00.0' class='gpu'/></cpu>"),
              "m.xml: line 2: class 'gpu' is not a PCI class");
  EXPECT_TEXT(error_of("<cpu affinity='1'><pci busid='0000:01:00.0' class='0x03020000'/></cpu>"),
              "m.xml: line 2: class '0x03020000' is not a PCI class");
  EXPECT_TEXT(error_of("<cpu affinity='0-15'/>"),
              "m.xml: line 2: affinity '0-15' is not a mask of CPUs");
  EXPECT_TEXT(error_of("<cpu numaid='first' affinity='1'/>"),
              "m.xml: line 2: numaid 'first' is not a number");
  EXPECT_TEXT(error_of("<cpu affinity='" + std::string(70000, 'f') + "'/>").substr(0, 25),
              "m.xml: line 2: affinity '");
}

Test(nccl_xml, several_nodes_in_one_file_are_refused) {
  EXPECT_TEXT(error_of("<cpu host_hash='0x1' affinity='1'/>\n<cpu host_hash='0x2' affinity='1'/>"),
              "m.xml: line 3: the file describes several nodes");
}

Test(nccl_xml, text_that_is_cut_off_is_an_error) {
  const auto machine = machine_from_nccl_xml("<system version='1'>\n<cpu affinity='1'>", "m.xml");
  cr_assert(!machine.has_value());
  cr_expect_eq(machine.error().code, ErrorCode::kTopology);
  EXPECT_TEXT(machine.error().what.substr(0, 15), "m.xml: line 2: ");
}

Test(nccl_xml, damaged_files_give_a_sound_machine_or_an_error) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  const auto whole = read_file("tests/data/topo/nccl-dump.nccl.xml", 1 << 20);
  cr_assert(whole.has_value());
  int machines = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string xml = *whole;
    for (unsigned i = random() % 4; i < 4; ++i) {
      // A piece of the file over another one: what stays well formed is the more interesting half.
      const size_t length = 1 + random() % 12;
      xml.replace(random() % xml.size(), length, xml.substr(random() % xml.size(), length));
    }
    const auto machine = machine_from_nccl_xml(xml, "m.xml");
    if (!machine) {
      cr_assert_eq(machine.error().code, ErrorCode::kTopology, "seed %u", seed);
      continue;
    }
    ++machines;
    const int nodes = static_cast<int>(machine->pci.size());
    for (int i = 0; i < nodes; ++i) {
      cr_assert_lt(machine->pci[static_cast<size_t>(i)].parent, i, "seed %u", seed);
    }
    for (const Gpu& gpu : machine->gpus) {
      cr_assert(gpu.pci_node >= 0 && gpu.pci_node < nodes, "seed %u", seed);
    }
    for (const Hca& hca : machine->hcas) {
      cr_assert(hca.pci_node >= 0 && hca.pci_node < nodes, "seed %u", seed);
    }
  }
  cr_expect_gt(machines, 20, "seed %u", seed);
}

Test(nccl_xml, too_much_of_anything_is_refused) {
  const auto many = [](const char* piece, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) {
      out += piece;
    }
    return out;
  };
  EXPECT_TEXT(error_of(many("<cpu affinity='1'/>", 2000)), "m.xml: line 2: more than 1024 <cpu>");
  EXPECT_TEXT(error_of("<cpu>" + many("<pci busid='01:00.0'/>", 5000) + "</cpu>"),
              "m.xml: line 2: more than 4096 <pci>");
  EXPECT_TEXT(error_of("<cpu><pci busid='01:00.0'>" + many("<gpu/>", 2000) + "</pci></cpu>"),
              "m.xml: line 2: more than 1024 GPUs");
  EXPECT_TEXT(error_of("<cpu><nic>" + many("<net name='a'/>", 2000) + "</nic></cpu>"),
              "m.xml: line 2: more than 1024 network adapters");
  EXPECT_TEXT(error_of("<cpu><nic><net name='" + many("a+", 2000) + "'/></nic></cpu>"),
              "m.xml: line 2: more than 1024 network adapters");
  EXPECT_TEXT(error_of("<cpu><nic><net name='" + many("a+", 90000) + "'/></nic></cpu>"),
              "m.xml: line 2: a network adapter's name is too long");
}

}  // namespace distinit
