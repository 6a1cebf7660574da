// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/distance.h"

#include <algorithm>

namespace distinit {

namespace {

/// The node itself first, its root last.
std::vector<int> way_to_root(const Machine& machine, int pci_node) {
  std::vector<int> way;
  for (int at = pci_node; at >= 0; at = machine.pci[static_cast<size_t>(at)].parent) {
    way.push_back(at);
  }
  return way;
}

/// PCIe bridges that an object on the way stands for.
int bridges_in(const Machine& machine, int pci_node) {
  switch (machine.pci[static_cast<size_t>(pci_node)].kind) {
    case PciKind::kBridge:
      return 1;
    case PciKind::kSwitch:
      return 2;
    default:
      return 0;
  }
}

int bridges_below(const Machine& machine, const std::vector<int>& way, int ancestor) {
  int bridges = 0;
  for (const int at : way) {
    if (at == ancestor) {
      break;
    }
    bridges += bridges_in(machine, at);
  }
  return bridges;
}

bool share_numa(const Locality& a, const Locality& b) {
  return std::any_of(a.numa.begin(), a.numa.end(), [&b](int number) {
    return std::find(b.numa.begin(), b.numa.end(), number) != b.numa.end();
  });
}

bool share_package(const Machine& machine, const CpuSet& a, const CpuSet& b) {
  return std::any_of(machine.packages.begin(), machine.packages.end(), [&](const Package& package) {
    return package.cpus.intersects(a) && package.cpus.intersects(b);
  });
}

bool is_same_function(const PciNode& a, const PciNode& b) {
  return a.kind == PciKind::kDevice && b.kind == PciKind::kDevice && a.address == b.address;
}

}  // namespace

std::string_view path_text(PathClass path) {
  switch (path) {
    case PathClass::kPix:
      return "PIX";
    case PathClass::kPxb:
      return "PXB";
    case PathClass::kPhb:
      return "PHB";
    case PathClass::kNode:
      return "NODE";
    case PathClass::kSys:
      break;
  }
  return "SYS";
}

PathClass path_between(const Machine& machine, int pci_a, int pci_b) {
  if (pci_a < 0 || pci_b < 0) {
    return PathClass::kSys;
  }
  const PciNode& a = machine.pci[static_cast<size_t>(pci_a)];
  const PciNode& b = machine.pci[static_cast<size_t>(pci_b)];
  if (pci_a == pci_b || is_same_function(a, b)) {
    return PathClass::kPix;
  }
  const std::vector<int> way_a = way_to_root(machine, pci_a);
  const std::vector<int> way_b = way_to_root(machine, pci_b);
  const auto common = std::find_first_of(way_a.begin(), way_a.end(), way_b.begin(), way_b.end());
  if (common == way_a.end()) {
    return share_numa(a.locality, b.locality) ? PathClass::kNode : PathClass::kSys;
  }
  if (machine.pci[static_cast<size_t>(*common)].kind == PciKind::kHostBridge) {
    return PathClass::kPhb;
  }
  // A switch between is one bridge on each side of the common one.
  const bool one_switch =
      bridges_below(machine, way_a, *common) <= 1 && bridges_below(machine, way_b, *common) <= 1;
  return one_switch ? PathClass::kPix : PathClass::kPxb;
}

PathMatrix path_matrix(const Machine& machine) {
  PathMatrix matrix;
  for (const Gpu& gpu : machine.gpus) {
    std::vector<PathClass> paths;
    std::vector<bool> same_package;
    const CpuSet gpu_cpus = locality_of(machine, gpu.pci_node).cpus;
    for (const Hca& hca : machine.hcas) {
      paths.push_back(path_between(machine, gpu.pci_node, hca.pci_node));
      same_package.push_back(
          hca.pci_node >= 0 &&
          share_package(machine, gpu_cpus, locality_of(machine, hca.pci_node).cpus));
    }
    matrix.paths.push_back(std::move(paths));
    matrix.same_package.push_back(std::move(same_package));
  }
  return matrix;
}

std::vector<int> nearest_hcas(const PathMatrix& matrix, int gpu,
                              const std::vector<int>& candidates) {
  const auto& paths = matrix.paths[static_cast<size_t>(gpu)];
  std::vector<int> nearest;
  PathClass best = PathClass::kSys;
  for (const int hca : candidates) {
    const PathClass path = paths[static_cast<size_t>(hca)];
    if (path < best) {
      best = path;
      nearest.clear();
    }
    if (path == best) {
      nearest.push_back(hca);
    }
  }
  if (best != PathClass::kSys || matrix.same_package.empty()) {
    return nearest;
  }
  const auto& same_package = matrix.same_package[static_cast<size_t>(gpu)];
  std::vector<int> nearer;
  std::copy_if(nearest.begin(), nearest.end(), std::back_inserter(nearer),
               [&](int hca) { return same_package[static_cast<size_t>(hca)]; });
  return nearer.empty() ? nearest : nearer;
}

}  // namespace distinit
