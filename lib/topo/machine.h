// SPDX-License-Identifier: Apache-2.0
#pragma once
// One node as the placement policy sees it: CPUs, NUMA nodes, the PCI tree, GPUs and HCA ports.
// Plain values, made by the readers (load_machine.h), changed by nobody afterwards.

#include "lib/base/cpu_set.h"
#include "lib/topo/pci_address.h"

#include <optional>
#include <string>
#include <vector>

#include <stdint.h>

namespace distinit {

struct NumaNode {
  int number = 0;  ///< the operating system's
  CpuSet cpus;     ///< empty for a node of memory alone (a GPU's HBM)

  bool operator==(const NumaNode&) const = default;
};

struct Package {
  int number = 0;
  CpuSet cpus;

  bool operator==(const Package&) const = default;
};

enum class PciKind {
  kHostBridge,  ///< a root of the tree; in NCCL's XML the <cpu>
  kBridge,      ///< one PCI-to-PCI bridge: a root port, or one port of a switch
  kSwitch,      ///< a whole switch, as NCCL's XML writes it: an upstream and a downstream bridge
  kDevice,
};

/// Where devices are near to: of a host bridge, or of a device that hangs on no bridge.
struct Locality {
  CpuSet cpus;
  std::vector<int> numa;  ///< numbers of the NUMA nodes, ascending

  bool operator==(const Locality&) const = default;
};

/// One object of the PCI tree. `parent` is an index into Machine::pci and smaller than the own one,
/// so there is no cycle; -1 for a root.
struct PciNode {
  PciKind kind = PciKind::kDevice;
  int parent = -1;
  PciAddress address;  ///< of a host bridge: meaningless
  uint16_t vendor = 0;
  uint16_t device = 0;
  uint16_t class_id = 0;  ///< class and subclass: 0x0302
  Locality locality;      ///< its own, or taken over from its root

  bool operator==(const PciNode&) const = default;
};

enum class GpuVendor { kNvidia, kAmd, kIntel, kOther };

/// A GPU, or a partition of one (MIG, AMD's CPX and DPX): what a program sees as one device.
struct Gpu {
  /// The vendor's number where the source tells it for every GPU (nvml0, rsmi3, <gpu dev="0">),
  /// else the position in bus order.
  int index = 0;
  PciAddress pci;
  int pci_node = -1;  ///< into Machine::pci
  GpuVendor vendor = GpuVendor::kOther;
  std::string name;    ///< "nvml0", "rsmi3", or empty
  std::string uuid;    ///< "GPU-…", "MIG-…", or empty
  int minor = -1;      ///< N of /dev/nvidiaN, where known
  int partition = -1;  ///< among those of one PCI function; -1: the whole function

  bool operator==(const Gpu&) const = default;
};

enum class LinkLayer { kUnknown, kInfiniBand, kEthernet, kSlingshot };
enum class PortState { kUnknown, kDown, kInit, kArmed, kActive };
enum class GidType { kUnknown, kInfiniBandOrRoceV1, kRoceV2 };

/// One entry of a port's GID table (sysfs gids/, gid_attrs/).
struct Gid {
  int index = 0;
  std::string text;  ///< eight groups of four digits, as sysfs writes it
  GidType type = GidType::kUnknown;
  std::string interface;  ///< the network interface it came from; may be empty

  bool operator==(const Gid&) const = default;
};

/// One port of an HCA; a device with two ports is here twice.
struct Hca {
  std::string name;  ///< "mlx5_0"; "nic@BUSID" where the source has none; "hsi0" of a Slingshot
  int port = 1;
  std::optional<PciAddress> pci;  ///< none: soft-RoCE
  int pci_node = -1;              ///< into Machine::pci; -1: not in the tree
  LinkLayer link = LinkLayer::kUnknown;
  PortState state = PortState::kUnknown;
  int rate_gbps = 0;  ///< 0: unknown
  int lid = -1;       ///< InfiniBand; -1: unknown
  std::vector<Gid> gids;
  std::string interface;  ///< its network interface, where known
  /// It is a virtual function; `physical_function` is the address of the device it is part of.
  bool is_virtual = false;
  std::optional<PciAddress> physical_function;
  /// libibverbs does not list it, so no program can open it.
  bool is_unlisted = false;

  bool operator==(const Hca&) const = default;
};

struct Machine {
  std::string source;          ///< "this node", or the path of the file
  bool is_nccl = false;        ///< from an NCCL XML, which has neither packages nor cores
  CpuSet cpus;                 ///< all that are online
  std::vector<CpuSet> cores;   ///< hardware threads of each core; those of NCCL's XML: one CPU each
  std::vector<NumaNode> numa;  ///< by number
  std::vector<Package> packages;  ///< by number
  std::vector<PciNode> pci;
  std::vector<Gpu> gpus;  ///< by index
  std::vector<Hca> hcas;  ///< by bus, then name, then port

  bool operator==(const Machine&) const = default;
};

/// "mlx5_0:1".
std::string port_name(const Hca& hca);
/// The locality of a GPU or HCA; that of the whole machine where it is not in the tree or the tree
/// does not say.
Locality locality_of(const Machine& machine, int pci_node);
/// The one NUMA node of a locality; -1 when it has several or none.
int single_numa(const Locality& locality);
/// The words of design and manual: "infiniband", "ethernet", "slingshot", "unknown".
std::string_view link_text(LinkLayer link);
/// "active", "down", "init", "armed", "unknown".
std::string_view state_text(PortState state);

}  // namespace distinit
