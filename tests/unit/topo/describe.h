// SPDX-License-Identifier: Apache-2.0
#pragma once
// A machine's parts as lines of text, to compare all of its values at once.

#include "lib/base/text.h"
#include "lib/topo/machine.h"

#include <string>

namespace distinit {

/// From a PCI object up to its root: "0000:03:00.0<0000:02:00.0<host".
inline std::string describe_path(const Machine& machine, int pci_node) {
  std::string out;
  while (pci_node >= 0) {
    const PciNode& node = machine.pci[static_cast<size_t>(pci_node)];
    append_text(out, out.empty() ? "" : "<");
    append_text(
        out, node.kind == PciKind::kHostBridge ? "host" : format_pci_address(node.address).c_str());
    pci_node = node.parent;
  }
  return out;
}

inline std::string describe_place(const Machine& machine, int pci_node) {
  const Locality locality = locality_of(machine, pci_node);
  std::string out = "cpus " + locality.cpus.format() + " numa";
  for (const int node : locality.numa) {
    append_text(out, ' ');
    append_text(out, node);
  }
  return out;
}

/// One line a GPU: index, name, partition, path, place.
inline std::string describe_gpus(const Machine& machine) {
  std::string out;
  for (const Gpu& gpu : machine.gpus) {
    out += concat(gpu.index, ' ', gpu.name.empty() ? "-" : gpu.name.c_str(),
                  gpu.partition < 0 ? std::string() : concat(" part ", gpu.partition), ' ',
                  describe_path(machine, gpu.pci_node), ' ', describe_place(machine, gpu.pci_node),
                  '\n');
  }
  return out;
}

/// One line a port: name, link, state, LID, interface, path, place.
inline std::string describe_hcas(const Machine& machine) {
  std::string out;
  for (const Hca& hca : machine.hcas) {
    out += concat(port_name(hca), ' ', link_text(hca.link), ' ', state_text(hca.state));
    out += hca.lid < 0 ? std::string() : concat(" lid ", hca.lid);
    out += hca.interface.empty() ? std::string() : concat(" on ", hca.interface);
    out += hca.is_virtual ? " virtual" : "";
    out += hca.physical_function ? " of " + format_pci_address(*hca.physical_function) : "";
    out += concat(' ', describe_path(machine, hca.pci_node), ' ',
                  describe_place(machine, hca.pci_node), '\n');
  }
  return out;
}

/// Cores, NUMA nodes and packages: "cores 0,4 1,5\nnuma 0:0-1 …\npackages 0:0-1 …\n".
inline std::string describe_cpus(const Machine& machine) {
  std::string out = "cores";
  for (const CpuSet& core : machine.cores) {
    out += " " + core.format();
  }
  out += "\nnuma";
  for (const NumaNode& node : machine.numa) {
    out += concat(' ', node.number, ':', node.cpus.format());
  }
  out += "\npackages";
  for (const Package& package : machine.packages) {
    out += concat(' ', package.number, ':', package.cpus.format());
  }
  return out + "\n";
}

}  // namespace distinit
