// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/machine.h"

#include "lib/base/text.h"
#include "lib/topo/readers.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace distinit {

namespace {

bool have_vendor_numbers(const std::vector<Gpu>& gpus) {
  std::set<int> seen;
  return std::all_of(gpus.begin(), gpus.end(), [&](const Gpu& gpu) {
    return gpu.index >= 0 && seen.insert(gpu.index).second;
  });
}

void sort_gpus(std::vector<Gpu>& gpus) {
  std::stable_sort(gpus.begin(), gpus.end(), [](const Gpu& a, const Gpu& b) {
    return std::tie(a.pci, a.partition) < std::tie(b.pci, b.partition);
  });
  if (!have_vendor_numbers(gpus)) {
    int next = 0;
    for (Gpu& gpu : gpus) {
      gpu.index = next++;
    }
    return;
  }
  std::sort(gpus.begin(), gpus.end(), [](const Gpu& a, const Gpu& b) { return a.index < b.index; });
}

bool hca_before(const Hca& a, const Hca& b) {
  if (a.pci.has_value() != b.pci.has_value()) {
    return a.pci.has_value();
  }
  return std::tie(a.pci, a.name, a.port) < std::tie(b.pci, b.name, b.port);
}

}  // namespace

std::string port_name(const Hca& hca) {
  return concat(hca.name, ':', hca.port);
}

Locality locality_of(const Machine& machine, int pci_node) {
  if (pci_node >= 0 && static_cast<size_t>(pci_node) < machine.pci.size()) {
    const Locality& own = machine.pci[static_cast<size_t>(pci_node)].locality;
    if (!own.cpus.is_empty() || !own.numa.empty()) {
      return own;
    }
  }
  Locality whole{machine.cpus, {}};
  for (const NumaNode& node : machine.numa) {
    whole.numa.push_back(node.number);
  }
  return whole;
}

int single_numa(const Locality& locality) {
  return locality.numa.size() == 1 ? locality.numa.front() : -1;
}

std::string_view link_text(LinkLayer link) {
  switch (link) {
    case LinkLayer::kInfiniBand:
      return "infiniband";
    case LinkLayer::kEthernet:
      return "ethernet";
    case LinkLayer::kSlingshot:
      return "slingshot";
    case LinkLayer::kUnknown:
      break;
  }
  return "unknown";
}

std::string_view state_text(PortState state) {
  switch (state) {
    case PortState::kActive:
      return "active";
    case PortState::kDown:
      return "down";
    case PortState::kInit:
      return "init";
    case PortState::kArmed:
      return "armed";
    case PortState::kUnknown:
      break;
  }
  return "unknown";
}

void finish_machine(Machine& machine) {
  sort_gpus(machine.gpus);
  std::stable_sort(machine.hcas.begin(), machine.hcas.end(), hca_before);
  std::stable_sort(machine.numa.begin(), machine.numa.end(),
                   [](const NumaNode& a, const NumaNode& b) { return a.number < b.number; });
  std::stable_sort(machine.packages.begin(), machine.packages.end(),
                   [](const Package& a, const Package& b) { return a.number < b.number; });
}

}  // namespace distinit
