// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/load_machine.h"

#include "tests/unit/expect_text.h"
#include "tests/unit/scratch.h"
#include "tests/unit/topo/describe.h"
#include "tests/unit/topo/fake_tree.h"

#include <filesystem>
#include <fstream>

#include <criterion/criterion.h>
#include <sys/stat.h>

using namespace distinit;

namespace {

/// A folder for one test's files.
class Folder {
 public:
  Folder() : path_(make_scratch_folder("load-machine")) {}
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string file(const std::string& content) const {
    const std::string path = path_ + "/node.xml";
    std::ofstream(path) << content;
    return path;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

void expect_error(const std::string& path, const std::string& what) {
  const auto machine = load_machine_file(path);
  cr_assert(!machine.has_value(), "was to fail: %s", what.c_str());
  cr_expect(machine.error().code == ErrorCode::kTopology);
  EXPECT_TEXT(machine.error().what, path + ": " + what);
  cr_expect(!machine.error().hint.empty());
}

/// A machine of two CPUs with this inside its package.
std::string with_objects(const std::string& objects) {
  return "<topology version=\"2.0\">\n"
         "<object type=\"Machine\" os_index=\"0\" cpuset=\"0x3\" nodeset=\"0x1\">\n"
         "<object type=\"Package\" os_index=\"0\" cpuset=\"0x3\" nodeset=\"0x1\">\n"
         "<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x3\" nodeset=\"0x1\"/>\n" +
         objects + "\n</object></object></topology>\n";
}

void expect_contradiction(const std::string& objects, const std::string& what) {
  const Folder folder;
  expect_error(folder.file(with_objects(objects)), what);
}

constexpr const char* kGpu =
    "<object type=\"PCIDev\" pci_busid=\"0000:01:00.0\" pci_type=\"0302 "
    "[10de:2330] [10de:0001] a1\"/>\n";

}  // namespace

Test(load_machine, both_kinds_are_told_apart_by_their_content) {
  const auto hwloc = load_machine_file("tests/data/topo/one-gpu.hwloc.xml");
  cr_assert(hwloc.has_value());
  cr_expect(!hwloc->is_nccl);
  cr_expect_eq(hwloc->gpus.size(), 1u);
  const Folder folder;
  const auto nccl = load_machine_file(
      folder.file("<system version=\"1\"><cpu numaid=\"0\" affinity=\"0000000f\" "
                  "arch=\"x86_64\"><pci busid=\"0000:01:00.0\" class=\"0x030200\"><gpu "
                  "dev=\"0\"/></pci></cpu></system>"));
  cr_assert(nccl.has_value(), "%s", nccl ? "" : format_error(nccl.error()).c_str());
  cr_expect(nccl->is_nccl);
  EXPECT_TEXT(nccl->source, folder.path() + "/node.xml");
  cr_expect_eq(nccl->gpus.size(), 1u);
}

Test(load_machine, what_is_no_readable_file_is_named) {
  expect_error("/nonexistent/node.xml", "No such file or directory");
  expect_error("/tmp", "is a folder");
  expect_error("/dev/null", "is not a regular file");
  const Folder folder;
  const std::string fifo = folder.path() + "/fifo";
  cr_assert_eq(mkfifo(fifo.c_str(), 0600), 0);
  expect_error(fifo, "is not a regular file");
  const std::string path = folder.file("<topology/>");
  std::filesystem::resize_file(path, (size_t{64} << 20) + 1);
  expect_error(path, "has 67108865 bytes, more than the 67108864 that a machine may have");
}

Test(load_machine, broken_xml_is_an_error_with_path_and_line) {
  const Folder folder;
  expect_error(folder.file("<topology version=\"2.0\">\n<object"),
               "cut off in line 2: 1 elements are still open");
  expect_error(folder.file("<topology version=\"2.0\"></topology>"), "has no CPU");
}

Test(load_machine, broken_values_are_errors_with_their_line) {
  expect_contradiction(
      "<object type=\"Core\" cpuset=\"0x1\"/>\n<object type=\"Core\" "
      "cpuset=\"0x3\"/>",
      "line 6: CPU 0 is in two cores");
  expect_contradiction("<object type=\"Core\" cpuset=\"banana\"/>",
                       "line 5: no set of numbers below 65536: 'banana'");
  expect_contradiction("<object type=\"PU\" cpuset=\"0xf...f\"/>",
                       "line 5: no set of numbers below 65536: '0xf...f'");
  expect_contradiction("<object type=\"NUMANode\" os_index=\"0\"/>",
                       "line 5: NUMA node 0 is there twice");
  expect_contradiction("<object type=\"NUMANode\" os_index=\"-1\"/>",
                       "line 5: a NUMA node without number");
  expect_contradiction("<object type=\"PCIDev\" pci_busid=\"1:2:3\"/>",
                       "line 5: no PCI address: '1:2:3'");
  expect_contradiction("<object type=\"PCIDev\"/>", "line 5: no PCI address: ''");
  expect_contradiction("<object type=\"PCIDev\" pci_busid=\"0000:01:00.0\" pci_type=\"gpu\"/>",
                       "line 5: no PCI class and vendor: 'gpu'");
  expect_contradiction(
      "<object type=\"PCIDev\" pci_busid=\"0000:01:00.0\">\n<object "
      "type=\"Core\" cpuset=\"0x1\"/></object>",
      "line 6: 'Core' stands inside an I/O device");
}

Test(load_machine, a_pci_tree_that_contradicts_itself_is_an_error) {
  expect_contradiction(std::string(kGpu) + kGpu, "line 6: PCI device 0000:01:00.0 is there twice");
  expect_contradiction(
      "<object type=\"Bridge\" bridge_type=\"1-1\" pci_busid=\"0000:01:00.0\">\n"
      "<object type=\"Bridge\" bridge_type=\"1-1\" pci_busid=\"0000:02:00.0\">\n"
      "<object type=\"Bridge\" bridge_type=\"1-1\" pci_busid=\"0000:01:00.0\" "
      "pci_type=\"0604 [1000:c030] [0000:0000] 00\"/></object></object>",
      "line 7: PCI device 0000:01:00.0 stands below itself");
  expect_contradiction(
      "<object type=\"Bridge\" bridge_type=\"1-1\" pci_busid=\"0000:01:00.0\">\n"
      "<object type=\"Bridge\" bridge_type=\"0-1\"/></object>",
      "line 6: a host bridge stands below a PCI device");
}

Test(load_machine, two_different_devices_at_one_address_are_both_kept) {
  const Folder folder;
  const auto machine = load_machine_file(folder.file(
      with_objects(std::string(kGpu) + "<object type=\"PCIDev\" pci_busid=\"0000:01:00.0\" "
                                       "pci_type=\"0107 [8086:1d6b] [8086:0001] 00\"/>")));
  cr_assert(machine.has_value());
  cr_expect_eq(machine->pci.size(), 2u);
  EXPECT_TEXT(describe_gpus(*machine), "0 - 0000:01:00.0 cpus 0-1 numa 0\n");
  EXPECT_TEXT(describe_cpus(*machine), "cores 0 1\nnuma 0:0-1\npackages 0:0-1\n");
}

Test(load_machine, a_hostile_file_costs_neither_time_nor_memory, .timeout = 60) {
  // Few bytes that stand for large sets: the highest CPU in every one of many roots.
  std::string set = "0x80000000";
  set.append(2047, ',');
  std::string objects = "<object type=\"Group\" cpuset=\"" + set + "\" nodeset=\"" + set + "\">\n";
  for (int i = 0; i < 9000; ++i) {
    objects += "<object type=\"PCIDev\" pci_busid=\"";
    objects += format_pci_address({static_cast<uint32_t>(i), 1, 0, 0}) + "\"/>\n";
  }
  const Folder folder;
  const std::string path = folder.file(with_objects(objects + "</object>"));
  expect_error(path, "line 8198: more than 8192 PCI devices");
}

Test(load_machine, a_recorded_tree_is_discovered_as_the_running_one) {
  const FakeTree tree("discover");
  tree.file("proc/cpuinfo", "processor : 0\n\nprocessor : 1\n\n");
  for (const char* cpu : {"0", "1"}) {
    const std::string topology = std::string("sys/devices/system/cpu/cpu") + cpu + "/topology/";
    tree.file(topology + "core_id", cpu);
    tree.file(topology + "physical_package_id", "0");
    tree.file(topology + "core_cpus", cpu[0] == '0' ? "1" : "2");
    tree.file(topology + "package_cpus", "3");
  }
  tree.file("sys/devices/system/cpu/online", "0-1\n");
  tree.file("sys/devices/system/cpu/possible", "0-1\n");
  tree.file("sys/devices/system/node/online", "0\n");
  tree.file("sys/devices/system/node/node0/cpumap", "3\n");
  const auto add_pci = [&](const std::string& bus, const char* vendor, const char* device,
                           const char* class_id) {
    const std::string folder = "sys/devices/pci0000:00/" + bus + "/";
    tree.file(folder + "vendor", vendor);
    tree.file(folder + "device", device);
    tree.file(folder + "class", class_id);
    tree.file(folder + "local_cpus", "3\n");
    tree.file(folder + "config", std::string(64, '\0'));
    tree.link("sys/bus/pci/devices/" + bus, "../../../devices/pci0000:00/" + bus);
    return folder;
  };
  add_pci("0000:00:01.0", "0x10de\n", "0x2330\n", "0x030200\n");
  const std::string hca = add_pci("0000:00:02.0", "0x15b3\n", "0x1021\n", "0x020700\n");
  tree.file(hca + "infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
  tree.file(hca + "infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n");
  tree.file(hca + "infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n");
  tree.file(hca + "infiniband/mlx5_0/ports/1/lid", "0x12\n");
  tree.link(hca + "infiniband/mlx5_0/device", "../..");
  tree.link("sys/class/infiniband/mlx5_0",
            "../../devices/pci0000:00/0000:00:02.0/infiniband/mlx5_0");

  const auto found = discover_machine(tree.roots());
  cr_assert(found.has_value(), "%s", found ? "" : format_error(found.error()).c_str());
  EXPECT_TEXT(describe_gpus(found->machine), "0 - 0000:00:01.0<host cpus 0-1 numa 0\n");
  EXPECT_TEXT(describe_hcas(found->machine),
              "mlx5_0:1 infiniband active lid 18 0000:00:02.0<host cpus 0-1 numa 0\n");
  cr_assert_eq(found->machine.hcas.size(), 1u);
  cr_expect_eq(found->machine.hcas[0].rate_gbps, 400);
  cr_expect(!found->machine.hcas[0].is_unlisted);
  EXPECT_TEXT(describe_cpus(found->machine), "cores 0 1\nnuma 0:0-1\npackages 0:0-1\n");
  cr_expect(found->findings.empty());
}

Test(load_machine, the_running_node_is_discovered, .timeout = 60) {
  const auto found = discover_machine({});
  cr_assert(found.has_value(), "%s", found ? "" : format_error(found.error()).c_str());
  EXPECT_TEXT(found->machine.source, "this node");
  cr_expect(!found->machine.cpus.is_empty());
}
