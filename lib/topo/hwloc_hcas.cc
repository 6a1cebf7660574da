// SPDX-License-Identifier: Apache-2.0
#include "lib/base/text.h"
#include "lib/topo/hwloc_tree.h"
#include "lib/topo/port_texts.h"

#include <map>
#include <optional>

namespace distinit {

namespace {

constexpr uint16_t kHpe = 0x17db;
constexpr size_t kMostPorts = 1024;

std::string_view info_of(const OsDevice& device, std::string_view name) {
  for (const auto& [key, value] : device.infos) {
    if (key == name) {
      return value;
    }
  }
  return {};
}

/// Omni-Path is a fabric controller; its ports say InfiniBand.
LinkLayer link_of(const PciNode& node) {
  switch (node.class_id) {
    case 0x0207:
    case 0x0208:
    case 0x0c06:
      return LinkLayer::kInfiniBand;
    case 0x0200:
      return LinkLayer::kEthernet;
    default:
      return LinkLayer::kUnknown;
  }
}

/// Takes "Port", a number and `end` away from the front.
std::optional<int> take_port(std::string_view& name, std::string_view end) {
  const size_t digits = std::string_view("Port").size();
  const size_t at = name.find(end, digits);
  if (!name.starts_with("Port") || at == std::string_view::npos) {
    return std::nullopt;
  }
  const auto port = parse_number(name.substr(digits, at - digits), 1, 255);
  name.remove_prefix(at + end.size());
  return port ? std::optional<int>(static_cast<int>(*port)) : std::nullopt;
}

/// PortNState, PortNLID and PortNGIDk.
void read_port_info(std::string_view name, std::string_view value, std::map<int, Hca>& ports) {
  std::string_view rest = name;
  if (const auto state_port = take_port(rest, "State"); state_port && rest.empty()) {
    ports[*state_port].state = parse_port_state(value);
    return;
  }
  rest = name;
  if (const auto lid_port = take_port(rest, "LID"); lid_port && rest.empty()) {
    ports[*lid_port].lid = parse_lid(value);
    return;
  }
  rest = name;
  const auto gid_port = take_port(rest, "GID");
  const auto index = parse_number(rest, 0, 65535);
  if (gid_port && index) {
    ports[*gid_port].gids.push_back(
        {static_cast<int>(*index), std::string(value), GidType::kUnknown, {}});
  }
}

/// The network interface of a port, among those on the same PCI device.
std::string interface_of(const HwlocTree& tree, int pci_node, int port) {
  std::string only;
  int count = 0;
  for (const OsDevice& device : tree.devices) {
    if (pci_node < 0 || device.pci_node != pci_node || device.kind != OsDeviceKind::kNetwork) {
      continue;
    }
    if (parse_number(info_of(device, "Port"), 0, 255).value_or(-1) == port) {
      return device.name;
    }
    only = device.name;
    ++count;
  }
  return count == 1 ? only : std::string();
}

Hca hca_on(const HwlocTree& tree, const OsDevice& device) {
  Hca hca;
  hca.name = device.name;
  hca.pci_node = device.pci_node;
  if (device.pci_node >= 0) {
    const PciNode& node = tree.machine.pci[static_cast<size_t>(device.pci_node)];
    hca.pci = node.address;
    hca.link = link_of(node);
    hca.is_virtual = tree.virtual_functions.contains(device.pci_node);
  }
  return hca;
}

void add_verbs_device(HwlocTree& tree, const OsDevice& device) {
  std::map<int, Hca> ports;
  for (const auto& [name, value] : device.infos) {
    read_port_info(name, value, ports);
  }
  if (ports.empty()) {
    ports[1];
  }
  for (auto& [port, facts] : ports) {
    Hca hca = hca_on(tree, device);
    hca.port = port;
    hca.state = facts.state;
    hca.lid = facts.lid;
    hca.gids = std::move(facts.gids);
    hca.interface = interface_of(tree, hca.pci_node, port);
    tree.machine.hcas.push_back(std::move(hca));
  }
}

/// Slingshot has no verbs device, only a network interface.
void add_slingshot(HwlocTree& tree, const OsDevice& device) {
  if (device.pci_node < 0 ||
      tree.machine.pci[static_cast<size_t>(device.pci_node)].vendor != kHpe) {
    return;
  }
  Hca hca = hca_on(tree, device);
  hca.link = LinkLayer::kSlingshot;
  hca.interface = device.name;
  tree.machine.hcas.push_back(std::move(hca));
}

/// An export has no link from a virtual function to its physical one: it is the first function with
/// an HCA on the same bus.
void find_physical_functions(std::vector<Hca>& hcas) {
  for (Hca& hca : hcas) {
    for (const Hca& other : hcas) {
      if (hca.is_virtual && !other.is_virtual && hca.pci && other.pci &&
          hca.pci->domain == other.pci->domain && hca.pci->bus == other.pci->bus &&
          (!hca.physical_function || *other.pci < *hca.physical_function)) {
        hca.physical_function = other.pci;
      }
    }
  }
}

}  // namespace

void add_hcas(HwlocTree& tree) {
  for (const OsDevice& device : tree.devices) {
    if (tree.machine.hcas.size() >= kMostPorts) {
      break;
    }
    if (device.kind == OsDeviceKind::kOpenFabrics) {
      add_verbs_device(tree, device);
    } else if (device.kind == OsDeviceKind::kNetwork) {
      add_slingshot(tree, device);
    }
  }
  find_physical_functions(tree.machine.hcas);
}

}  // namespace distinit
