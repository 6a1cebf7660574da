// SPDX-License-Identifier: Apache-2.0
#pragma once
// The readers behind load_machine.h, one file each.

#include "lib/base/finding.h"
#include "lib/base/result.h"
#include "lib/topo/load_machine.h"
#include "lib/topo/machine.h"

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace distinit {

/// hwloc_machine.cc. `xml` is a whole export that check_xml has passed. HCAs and their port states
/// come from OpenFabrics objects, Slingshot from Net objects on vendor 17db, GPUs by PCI class and
/// vendor with the vendors' objects (nvml0, rsmi3, cuda0) where the export has them. Read by us
/// (hwloc_tree.h): hwloc's reader aborts on files that contradict themselves.
Result<Machine> machine_from_hwloc_xml(const std::string& xml, const std::string& source);
/// hwloc_machine.cc. The running machine, or a recorded tree (HWLOC_FSROOT) where roots are given:
/// the folders sys and proc of one folder. Sets HWLOC_… variables while it runs where they are not
/// as wanted, so no other thread may call setenv(3) meanwhile.
Result<Machine> machine_from_hwloc(const SystemRoots& roots);

/// nccl_xml.cc. `xml` has passed check_xml.
Result<Machine> machine_from_nccl_xml(const std::string& xml, const std::string& source);

/// xml_check.cc. What kind of file it is, after a pass over all of it that builds nothing: it must
/// be well formed, no deeper than 128 elements, have no more than a million of them and no entity
/// declarations of its own.
enum class XmlKind { kHwloc, kNccl };
Result<XmlKind> check_xml(const std::string& xml, const std::string& source);

/// sysfs_hcas.cc. Every port of every device in SYSFS/class/infiniband, plus Slingshot's network
/// interfaces (PCI vendor 17db), with pci_node filled from the machine's tree. Replaces
/// machine.hcas.
void read_hcas(const SystemRoots& roots, Machine& machine);

/// gpu_facts.cc. NVIDIA's UUID and minor number by bus address from PROC/driver/nvidia/gpus, MIG
/// instances from PROC/driver/nvidia/capabilities; AMD's partitions, ROCm's numbers and unique ids
/// ("GPU-<16 digits>") from SYSFS/class/kfd.
void read_gpu_facts(const SystemRoots& roots, Machine& machine);

/// verbs_devices.cc. Names of the devices that libibverbs lists; empty without RDMA in the kernel
/// (ENOSYS is no error).
Result<std::set<std::string>> list_verbs_devices();

/// Numbers the GPUs by bus order (partitions by their order) unless each has its vendor's number
/// (an `index` of -1, or the same one twice, is none), and sorts GPUs, HCAs (those without PCI
/// address last), NUMA nodes and packages as machine.h says. Every reader ends with it.
void finish_machine(Machine& machine);

}  // namespace distinit
