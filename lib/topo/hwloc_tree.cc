// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/hwloc_tree.h"

#include "lib/base/text.h"
#include "lib/topo/hwloc_values.h"
#include "lib/topo/readers.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include <expat.h>

namespace distinit {

namespace {

// More than any machine has, and few enough that a hostile file costs neither memory nor time.
constexpr size_t kMostPci = 8192;
constexpr size_t kMostOsDevices = 8192;
constexpr size_t kMostNuma = 4096;
constexpr size_t kMostPackages = 4096;

using Attributes = const XML_Char**;

std::optional<std::string_view> attribute(Attributes attributes, std::string_view name) {
  for (; *attributes != nullptr; attributes += 2) {
    if (name == attributes[0]) {
      return attributes[1];
    }
  }
  return std::nullopt;
}

/// An element that is open while the file is read.
struct Frame {
  bool is_object = false;
  HwlocType type = HwlocType::kOther;
  std::string cpus;    ///< as written; empty: none
  std::string nodes;   ///< as written
  int pci_node = -1;   ///< the nearest PCI object, this one included
  int os_device = -1;  ///< this very object
};

class TreeReader {
 public:
  explicit TreeReader(XML_Parser parser) : parser_(parser) {}

  void start(std::string_view element, Attributes attributes);
  void end() { stack_.pop_back(); }
  Result<HwlocTree> finish();

 private:
  void fail(std::string what) {
    if (!error_) {
      error_ = Error{ErrorCode::kTopology,
                     concat("line ", XML_GetCurrentLineNumber(parser_), ": ", what),
                     "export the machine again with lstopo", 0};
    }
    XML_StopParser(parser_, XML_FALSE);
  }
  void start_object(Attributes attributes);
  CpuSet parse_set(std::string_view text);
  void add_numa(const Frame& frame, int number);
  void add_package(const Frame& frame, int number);
  void add_core(const Frame& frame);
  void add_pci(Frame& frame, Attributes attributes);
  void add_os_device(Frame& frame, Attributes attributes);
  void add_info(Attributes attributes);
  CpuSet parse_wide_set(std::string_view text);
  void place_root(PciNode& node);
  bool contradicts(const PciNode& node);

  XML_Parser parser_;
  std::vector<Frame> stack_;
  HwlocTree tree_;
  std::optional<Error> error_;
  bool has_root_ = false;
  CpuSet threads_;   // of PU objects
  CpuSet in_cores_;  // of Core objects
  Frame place_;      // texts of the sets below, those of the latest root
  CpuSet place_cpus_;
  CpuSet place_nodes_;
  std::vector<CpuSet> root_nodes_;  // NUMA nodes near each root of the PCI tree, in its order
  std::set<int> numa_numbers_;
  std::set<std::tuple<PciAddress, uint16_t, uint16_t>> functions_;
};

void TreeReader::start(std::string_view element, Attributes attributes) {
  if (error_) {
    return;
  }
  if (element == "object") {
    start_object(attributes);
    return;
  }
  if (element == "info") {
    add_info(attributes);
  }
  stack_.emplace_back();
}

CpuSet TreeReader::parse_set(std::string_view text) {
  if (text.empty()) {
    return {};
  }
  auto set = parse_hwloc_set(text);
  if (!set) {
    fail(concat("no set of numbers below ", CpuSet::kMostCpus, ": '", abbreviate(text), "'"));
  }
  return set.value_or(CpuSet{});
}

void TreeReader::start_object(Attributes attributes) {
  const std::string_view type = attribute(attributes, "type").value_or("");
  Frame frame;
  frame.is_object = true;
  frame.type = parse_hwloc_type(type);
  frame.cpus = attribute(attributes, "cpuset").value_or("");
  frame.nodes = attribute(attributes, "nodeset").value_or("");
  const auto outer = std::find_if(stack_.rbegin(), stack_.rend(),
                                  [](const Frame& other) { return other.is_object; });
  const bool is_inside_io =
      outer != stack_.rend() && (is_io_type(outer->type) || outer->type == HwlocType::kMisc);
  if (is_inside_io && !is_io_type(frame.type) && frame.type != HwlocType::kMisc) {
    fail(concat("'", abbreviate(type), "' stands inside an I/O device"));
  }
  frame.pci_node = is_inside_io ? outer->pci_node : -1;
  const int number = static_cast<int>(
      parse_number(attribute(attributes, "os_index").value_or(""), 0, CpuSet::kMostCpus - 1)
          .value_or(-1));
  if (!has_root_) {
    has_root_ = true;
    tree_.machine.cpus = parse_wide_set(frame.cpus);
  }
  switch (frame.type) {
    case HwlocType::kNuma:
      add_numa(frame, number);
      break;
    case HwlocType::kPackage:
      add_package(frame, number);
      break;
    case HwlocType::kCore:
      add_core(frame);
      break;
    case HwlocType::kPu:
      threads_ = threads_ | parse_set(frame.cpus);
      break;
    case HwlocType::kBridge:
    case HwlocType::kPci:
      add_pci(frame, attributes);
      break;
    case HwlocType::kOs:
      add_os_device(frame, attributes);
      break;
    case HwlocType::kMachine:
    case HwlocType::kMisc:
    case HwlocType::kOther:
      break;
  }
  stack_.push_back(std::move(frame));
}

void TreeReader::add_numa(const Frame& frame, int number) {
  if (number < 0) {
    fail("a NUMA node without number");
  } else if (!numa_numbers_.insert(number).second) {
    fail(concat("NUMA node ", number, " is there twice"));
  } else if (numa_numbers_.size() > kMostNuma) {
    fail(concat("more than ", kMostNuma, " NUMA nodes"));
  } else {
    tree_.machine.numa.push_back({number, parse_set(frame.cpus)});
  }
}

void TreeReader::add_package(const Frame& frame, int number) {
  auto& packages = tree_.machine.packages;
  if (packages.size() == kMostPackages) {
    fail(concat("more than ", kMostPackages, " packages"));
    return;
  }
  const int position = static_cast<int>(packages.size());
  packages.push_back({number < 0 ? position : number, parse_set(frame.cpus)});
}

void TreeReader::add_core(const Frame& frame) {
  const CpuSet cpus = parse_set(frame.cpus);
  const CpuSet twice = cpus & in_cores_;
  if (!twice.is_empty()) {
    fail(concat("CPU ", twice.first(), " is in two cores"));
    return;
  }
  in_cores_ = in_cores_ | cpus;
  tree_.machine.cores.push_back(cpus);
}

/// An endless set stays empty, which says the same.
CpuSet TreeReader::parse_wide_set(std::string_view text) {
  return is_endless_hwloc_set(text) ? CpuSet{} : parse_set(text);
}

/// Where a PCI object is that hangs on no other: at the nearest object that has CPUs.
void TreeReader::place_root(PciNode& node) {
  for (auto frame = stack_.rbegin(); frame != stack_.rend(); ++frame) {
    if (!frame->cpus.empty()) {
      // Roots at one object come by the thousand in a hostile file.
      if (frame->cpus != place_.cpus || frame->nodes != place_.nodes) {
        place_.cpus = frame->cpus;
        place_.nodes = frame->nodes;
        place_cpus_ = parse_wide_set(frame->cpus);
        place_nodes_ = parse_wide_set(frame->nodes);
      }
      node.locality.cpus = place_cpus_;
      root_nodes_.push_back(place_nodes_);
      return;
    }
  }
  root_nodes_.emplace_back();
}

/// Real exports that were put together by hand have two different devices at one address; the same
/// one twice, or one below itself, leaves no tree to measure in.
bool TreeReader::contradicts(const PciNode& node) {
  const std::string address = format_pci_address(node.address);
  for (int above = node.parent; above >= 0;) {
    const PciNode& other = tree_.machine.pci[static_cast<size_t>(above)];
    if (other.kind != PciKind::kHostBridge && other.address == node.address) {
      fail(concat("PCI device ", address, " stands below itself"));
      return true;
    }
    above = other.parent;
  }
  if (!functions_.insert({node.address, node.vendor, node.device}).second) {
    fail(concat("PCI device ", address, " is there twice"));
    return true;
  }
  return false;
}

void TreeReader::add_pci(Frame& frame, Attributes attributes) {
  PciNode node;
  node.parent = frame.pci_node;
  const auto bus = attribute(attributes, "pci_busid");
  const auto bridge = attribute(attributes, "bridge_type").value_or("");
  if (frame.type == HwlocType::kBridge) {
    const bool is_host = bridge.starts_with("0") || !bus;
    node.kind = is_host ? PciKind::kHostBridge : PciKind::kBridge;
  }
  if (node.kind == PciKind::kHostBridge && node.parent >= 0) {
    fail("a host bridge stands below a PCI device");
    return;
  }
  if (node.kind != PciKind::kHostBridge) {
    const auto address = parse_pci_address(bus.value_or(""));
    if (!address) {
      fail(concat("no PCI address: '", abbreviate(bus.value_or("")), "'"));
      return;
    }
    node.address = *address;
    const auto type = attribute(attributes, "pci_type");
    if (type && !parse_hwloc_pci_type(*type, node)) {
      fail(concat("no PCI class and vendor: '", abbreviate(*type), "'"));
      return;
    }
    if (contradicts(node)) {
      return;
    }
  }
  if (tree_.machine.pci.size() == kMostPci) {
    fail(concat("more than ", kMostPci, " PCI devices"));
    return;
  }
  if (node.parent < 0) {
    place_root(node);
  }
  frame.pci_node = static_cast<int>(tree_.machine.pci.size());
  tree_.machine.pci.push_back(std::move(node));
}

void TreeReader::add_os_device(Frame& frame, Attributes attributes) {
  OsDevice device;
  const auto kind = parse_number(attribute(attributes, "osdev_type").value_or(""), 0,
                                 static_cast<long long>(OsDeviceKind::kOther));
  device.kind = static_cast<OsDeviceKind>(kind.value_or(6));
  device.name = attribute(attributes, "name").value_or("");
  device.pci_node = frame.pci_node;
  if (device.name.empty()) {
    return;
  }
  if (tree_.devices.size() == kMostOsDevices) {
    fail(concat("more than ", kMostOsDevices, " devices"));
    return;
  }
  frame.os_device = static_cast<int>(tree_.devices.size());
  tree_.devices.push_back(std::move(device));
}

void TreeReader::add_info(Attributes attributes) {
  if (stack_.empty() || !stack_.back().is_object) {
    return;
  }
  const std::string_view name = attribute(attributes, "name").value_or("");
  const std::string_view value = attribute(attributes, "value").value_or("");
  const Frame& owner = stack_.back();
  if (owner.os_device >= 0) {
    tree_.devices[static_cast<size_t>(owner.os_device)].infos.emplace_back(name, value);
  } else if (owner.type == HwlocType::kPci && name == "PCIDevice" &&
             value.find("Virtual Function") != std::string_view::npos) {
    tree_.virtual_functions.insert(owner.pci_node);
  }
}

Result<HwlocTree> TreeReader::finish() {
  if (!error_ && !settle_cpus(tree_.machine, threads_)) {
    error_ = Error{ErrorCode::kTopology, "has no CPU", "export the machine again with lstopo", 0};
  }
  if (error_) {
    return *error_;
  }
  settle_localities(tree_.machine, root_nodes_);
  return std::move(tree_);
}

void start_element(void* data, const XML_Char* name, const XML_Char** attributes) {
  static_cast<TreeReader*>(data)->start(name, attributes);
}

void end_element(void* data, const XML_Char*) {
  static_cast<TreeReader*>(data)->end();
}

}  // namespace

Result<HwlocTree> read_hwloc_tree(const std::string& xml, const std::string& source) {
  const XML_Parser parser = XML_ParserCreate(nullptr);
  if (parser == nullptr) {
    return Error{ErrorCode::kInternal, concat(source, ": out of memory"), {}, 0};
  }
  TreeReader reader(parser);
  XML_SetUserData(parser, &reader);
  XML_SetElementHandler(parser, start_element, end_element);
  // Whether it is well formed is check_xml's business; our own errors stop the parser as well.
  XML_Parse(parser, xml.data(), static_cast<int>(xml.size()), XML_TRUE);
  XML_ParserFree(parser);
  auto tree = reader.finish();
  if (!tree) {
    return with_context(std::move(tree).error(), source);
  }
  return tree;
}

}  // namespace distinit
