// SPDX-License-Identifier: Apache-2.0
#pragma once
// How far two PCI devices are from each other, in the classes of `nvidia-smi topo -m`, by walking
// the tree's parents. (hwloc_get_common_ancestor_obj crashes on I/O objects.)

#include "lib/topo/machine.h"

#include <string_view>
#include <vector>

namespace distinit {

/// Nearest first. nvidia-smi's legend and NVML's common ancestor levels are the same steps.
enum class PathClass {
  kPix,   ///< the same device, or at most one PCIe switch between
  kPxb,   ///< several bridges, but not the host bridge
  kPhb,   ///< the host bridge
  kNode,  ///< other host bridges of one NUMA node
  kSys,   ///< between NUMA nodes
};

std::string_view path_text(PathClass path);

/// Between two entries of Machine::pci. kSys where one is not in the tree (-1).
PathClass path_between(const Machine& machine, int pci_a, int pci_b);

/// All that the choice of HCAs depends on: one row a GPU, one column an HCA port, in the machine's
/// orders. Made from a machine, or restated from a table.
struct PathMatrix {
  std::vector<std::vector<PathClass>> paths;
  /// Whether GPU and HCA are near a common package; consulted among kSys alone. Empty: unknown.
  std::vector<std::vector<bool>> same_package;

  bool operator==(const PathMatrix&) const = default;
};

PathMatrix path_matrix(const Machine& machine);

/// Columns of the best class of this row among `candidates` (columns, ascending), all that tie;
/// among kSys those of the GPU's package, where there are any. Empty when there is no candidate.
std::vector<int> nearest_hcas(const PathMatrix& matrix, int gpu,
                              const std::vector<int>& candidates);

/// One column for each GPU (-1 without candidates): GPUs with the same nearest set share it out in
/// order, and one that another GPU is nearer to is left to that. `gpus`: the rows in bus order.
/// Result in the order of `gpus`.
std::vector<int> deal_rails(const PathMatrix& matrix, const std::vector<int>& gpus,
                            const std::vector<int>& candidates);

}  // namespace distinit
