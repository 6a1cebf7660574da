// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an hwloc export says, before anyone has decided what of it is a GPU or an HCA. Both ways to
// a Machine come through here: a file, and the export of a live discovery. hwloc's own reader is
// not used: it aborts on files that contradict themselves, and the agent must live.

#include "lib/base/result.h"
#include "lib/topo/machine.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace distinit {

/// hwloc_obj_osdev_type_t of hwloc 1 and 2, as osdev_type="3".
enum class OsDeviceKind { kBlock, kGpu, kNetwork, kOpenFabrics, kDma, kCoprocessor, kOther };

struct OsDevice {
  int pci_node = -1;  ///< into HwlocTree::machine.pci; -1: on no PCI device
  OsDeviceKind kind = OsDeviceKind::kOther;
  std::string name;
  std::vector<std::pair<std::string, std::string>> infos;
};

struct HwlocTree {
  Machine machine;  ///< all but its GPUs and HCAs
  std::vector<OsDevice> devices;
  std::set<int> virtual_functions;  ///< PCI nodes whose device name says so
};

/// hwloc_tree.cc. kTopology errors name `source`, the line and the value seen: broken addresses and
/// sets, the same PCI function twice, CPUs in two cores, no CPU at all, more of anything than a
/// machine can have. `xml` has passed check_xml.
Result<HwlocTree> read_hwloc_tree(const std::string& xml, const std::string& source);

/// hwloc_settle.cc. Gives machine.cpus to what was read one by one: only `threads` (where there are
/// any) count as CPUs, sets are cut to them, CPUs in no core are cores of their own. False without
/// any CPU.
bool settle_cpus(Machine& machine, const CpuSet& threads);
/// hwloc_settle.cc. Fills the localities: of roots their CPUs are there and `root_nodes` (in order)
/// says their NUMA nodes, the others take over from their root. hwloc 1 may name no NUMA nodes:
/// then those with these CPUs.
void settle_localities(Machine& machine, const std::vector<CpuSet>& root_nodes);

/// hwloc_gpus.cc. Fills machine.gpus: by PCI class and vendor, or because a vendor's object (nvml0,
/// rsmi3, cuda1) is there; several of one vendor behind a function are its partitions.
void add_gpus(HwlocTree& tree);
/// hwloc_hcas.cc. Fills machine.hcas: the ports of OpenFabrics objects, and Net objects of
/// Slingshot.
void add_hcas(HwlocTree& tree);

}  // namespace distinit
