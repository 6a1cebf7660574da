// SPDX-License-Identifier: Apache-2.0
#include "lib/base/text.h"
#include "lib/topo/hwloc_tree.h"

#include <algorithm>
#include <array>
#include <map>

namespace distinit {

namespace {

constexpr uint16_t kNvidia = 0x10de;
constexpr uint16_t kAmd = 0x1002;
constexpr uint16_t kIntel = 0x8086;
constexpr size_t kMostGpus = 1024;

// Whose numbers count, best first.
constexpr std::array<std::string_view, 3> kNumberers = {"nvml", "rsmi", "cuda"};

GpuVendor vendor_of(uint16_t id) {
  switch (id) {
    case kNvidia:
      return GpuVendor::kNvidia;
    case kAmd:
      return GpuVendor::kAmd;
    case kIntel:
      return GpuVendor::kIntel;
    default:
      return GpuVendor::kOther;
  }
}

/// A management controller's VGA is of another vendor.
bool is_gpu(const PciNode& node) {
  switch (node.vendor) {
    case kNvidia:
      return node.class_id == 0x0302 || node.class_id == 0x0300;
    case kAmd:
      return node.class_id == 0x0380 || node.class_id == 0x0300 || node.class_id == 0x1200;
    case kIntel:
      return node.class_id == 0x0380;
    default:
      return false;
  }
}

/// The numbers that each of kNumberers gave to what is behind one PCI function.
using Numbers = std::array<std::vector<int>, kNumberers.size()>;

std::map<int, Numbers> vendor_numbers(const HwlocTree& tree) {
  std::map<int, Numbers> out;
  for (const OsDevice& device : tree.devices) {
    for (size_t i = 0; i < kNumberers.size() && device.pci_node >= 0; ++i) {
      if (!device.name.starts_with(kNumberers[i])) {
        continue;
      }
      const auto digits = std::string_view(device.name).substr(kNumberers[i].size());
      if (const auto number = parse_number(digits, 0, 65535)) {
        out[device.pci_node][i].push_back(static_cast<int>(*number));
      }
    }
  }
  for (auto& [pci_node, numbers] : out) {
    for (auto& list : numbers) {
      std::sort(list.begin(), list.end());
    }
  }
  return out;
}

size_t partitions(const Numbers& numbers) {
  size_t most = 1;
  for (const auto& list : numbers) {
    most = std::max(most, list.size());
  }
  return most;
}

void add_function(HwlocTree& tree, int pci_node, const Numbers& numbers, size_t numberer) {
  const PciNode& node = tree.machine.pci[static_cast<size_t>(pci_node)];
  const size_t count = partitions(numbers);
  for (size_t i = 0; i < count && tree.machine.gpus.size() < kMostGpus; ++i) {
    Gpu gpu;
    gpu.index = -1;
    gpu.pci = node.address;
    gpu.pci_node = pci_node;
    gpu.vendor = vendor_of(node.vendor);
    gpu.partition = count == 1 ? -1 : static_cast<int>(i);
    if (numberer < kNumberers.size()) {
      gpu.index = numbers[numberer][i];
      gpu.name = concat(kNumberers[numberer], gpu.index);
    }
    tree.machine.gpus.push_back(std::move(gpu));
  }
}

}  // namespace

void add_gpus(HwlocTree& tree) {
  std::map<int, Numbers> functions = vendor_numbers(tree);
  for (size_t i = 0; i < tree.machine.pci.size(); ++i) {
    const PciNode& node = tree.machine.pci[i];
    if (node.kind == PciKind::kDevice && is_gpu(node)) {
      functions[static_cast<int>(i)];
    }
  }
  size_t numberer = 0;
  while (numberer < kNumberers.size() &&
         !std::all_of(functions.begin(), functions.end(), [&](const auto& function) {
           return function.second[numberer].size() == partitions(function.second);
         })) {
    ++numberer;
  }
  for (const auto& [pci_node, numbers] : functions) {
    add_function(tree, pci_node, numbers, numberer);
  }
}

}  // namespace distinit
