// SPDX-License-Identifier: Apache-2.0
// Layout: Documentation/ABI/stable/sysfs-class-infiniband of the kernel.
#include "lib/base/text.h"
#include "lib/topo/port_texts.h"
#include "lib/topo/readers.h"
#include "lib/topo/sysfs.h"

#include <algorithm>
#include <map>

namespace distinit {

namespace {

constexpr size_t kMostGids = 256;
constexpr std::string_view kSlingshotVendor = "0x17db";

using PciIndex = std::map<PciAddress, int>;

PciIndex index_tree(const Machine& machine) {
  PciIndex index;
  for (size_t i = 0; i < machine.pci.size(); ++i) {
    if (machine.pci[i].kind != PciKind::kHostBridge) {
      index.emplace(machine.pci[i].address, static_cast<int>(i));
    }
  }
  return index;
}

/// The decimal number that a text begins with; -1 without one.
int leading_number(std::string_view text) {
  const auto number =
      parse_number(text.substr(0, text.find_first_not_of("0123456789")), 0, 100'000'000);
  return number ? static_cast<int>(*number) : -1;
}

/// EFA says "Unknown".
LinkLayer parse_link(const std::string& text) {
  if (text == "InfiniBand") {
    return LinkLayer::kInfiniBand;
  }
  return text == "Ethernet" ? LinkLayer::kEthernet : LinkLayer::kUnknown;
}

GidType parse_gid_type(const std::string& text) {
  if (text == "RoCE v2") {
    return GidType::kRoceV2;
  }
  return text == "IB/RoCE v1" ? GidType::kInfiniBandOrRoceV1 : GidType::kUnknown;
}

bool is_gid(std::string_view text) {
  constexpr size_t kLength = 39;
  return text.size() == kLength &&
         text.find_first_not_of("0123456789abcdefABCDEF:") == std::string_view::npos;
}

std::vector<Gid> read_gids(const std::string& port) {
  std::vector<Gid> gids;
  std::vector<int> numbers = list_numbers(port + "/gids", "");
  numbers.resize(std::min(numbers.size(), kMostGids));
  for (const int number : numbers) {
    Gid gid;
    gid.index = number;
    gid.text = read_small_file(concat(port, "/gids/", number));
    if (!is_gid(gid.text) || gid.text.find_first_not_of("0:") == std::string::npos) {
      continue;
    }
    gid.type = parse_gid_type(read_small_file(concat(port, "/gid_attrs/types/", number)));
    gid.interface = read_small_file(concat(port, "/gid_attrs/ndevs/", number));
    gids.push_back(std::move(gid));
  }
  return gids;
}

/// A bond's interface is known to the GIDs alone: the device has the first slave's.
std::string interface_of(const std::string& device, const Hca& hca) {
  if (!hca.gids.empty() && !hca.gids.front().interface.empty()) {
    return hca.gids.front().interface;
  }
  const std::string folder = device + "/device/net";
  const auto names = list_folder(folder);
  for (const std::string& name : names) {
    const int port = leading_number(read_small_file(concat(folder, '/', name, "/dev_port")));
    if (port == hca.port - 1) {
      return name;
    }
  }
  return names.size() == 1 ? names.front() : std::string();
}

/// What does not depend on the port.
Hca read_device(const std::string& folder, const std::string& name, const PciIndex& tree) {
  Hca hca;
  hca.name = name;
  hca.pci = owning_function(folder + "/device");
  if (hca.pci) {
    const auto found = tree.find(*hca.pci);
    hca.pci_node = found == tree.end() ? -1 : found->second;
  }
  hca.physical_function = linked_function(folder + "/device/physfn");
  hca.is_virtual = hca.physical_function.has_value();
  return hca;
}

void read_verbs_device(const std::string& folder, const std::string& name, const PciIndex& tree,
                       std::vector<Hca>& out) {
  if (list_folder(folder).empty()) {
    return;
  }
  Hca hca = read_device(folder, name, tree);
  std::vector<int> ports = list_numbers(folder + "/ports", "");
  if (ports.empty()) {
    ports.push_back(1);
  }
  for (const int port : ports) {
    const std::string path = concat(folder, "/ports/", port);
    hca.port = port;
    hca.state = parse_port_state(read_small_file(path + "/state"));
    hca.link = parse_link(read_small_file(path + "/link_layer"));
    hca.rate_gbps = std::max(0, leading_number(read_small_file(path + "/rate")));
    hca.lid = parse_lid(read_small_file(path + "/lid"));
    hca.gids = read_gids(path);
    hca.interface = interface_of(folder, hca);
    out.push_back(hca);
  }
}

PortState parse_operstate(const std::string& text) {
  if (text == "up") {
    return PortState::kActive;
  }
  return text == "down" ? PortState::kDown : PortState::kUnknown;
}

void read_slingshot(const std::string& folder, const std::string& name, const PciIndex& tree,
                    std::vector<Hca>& out) {
  if (read_small_file(folder + "/device/vendor") != kSlingshotVendor) {
    return;
  }
  Hca hca = read_device(folder, name, tree);
  hca.link = LinkLayer::kSlingshot;
  hca.state = parse_operstate(read_small_file(folder + "/operstate"));
  hca.rate_gbps = std::max(0, leading_number(read_small_file(folder + "/speed"))) / 1000;
  hca.interface = name;
  out.push_back(std::move(hca));
}

}  // namespace

void read_hcas(const SystemRoots& roots, Machine& machine) {
  const std::string classes = (roots.sysfs.empty() ? "/sys" : roots.sysfs) + "/class/";
  const PciIndex tree = index_tree(machine);
  machine.hcas.clear();
  for (const std::string& name : list_folder(classes + "infiniband")) {
    read_verbs_device(concat(classes, "infiniband/", name), name, tree, machine.hcas);
  }
  for (const std::string& name : list_folder(classes + "net")) {
    read_slingshot(concat(classes, "net/", name), name, tree, machine.hcas);
  }
  finish_machine(machine);
}

}  // namespace distinit
