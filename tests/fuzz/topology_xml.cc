// SPDX-License-Identifier: Apache-2.0
// A fuzz target: whatever a topology file holds, the readers give an error or a machine whose parts
// fit together. Seeds: tests/data/topo.
//
//   clang++-14 -std=c++20 -I. -D_GNU_SOURCE -g -O1 -fsanitize=fuzzer,address,undefined \
//     tests/fuzz/topology_xml.cc lib/topo/hwloc_*.cc lib/topo/{machine,nccl_xml,port_texts}.cc \
//     lib/topo/{pci_address,xml_check}.cc lib/base/{check,cpu_set,error,fd,text}.cc \
//     -lhwloc -lexpat -o build/fuzz-topology
//   build/fuzz-topology -max_total_time=300 -max_len=65536 -rss_limit_mb=1024 -timeout=5 \
//     build/corpus tests/data/topo

#include "lib/base/check.h"
#include "lib/topo/readers.h"

#include <string>

#include <stddef.h>
#include <stdint.h>

using namespace distinit;

namespace {

void check_pci(const Machine& machine) {
  const int count = static_cast<int>(machine.pci.size());
  for (int i = 0; i < count; ++i) {
    const PciNode& node = machine.pci[static_cast<size_t>(i)];
    DISTINIT_CHECK(node.parent >= -1 && node.parent < i);
    DISTINIT_CHECK(node.kind != PciKind::kHostBridge || node.parent == -1);
    DISTINIT_CHECK(node.locality.cpus.is_subset_of(machine.cpus));
  }
  for (const Gpu& gpu : machine.gpus) {
    DISTINIT_CHECK(gpu.index >= 0 && gpu.pci_node >= 0 && gpu.pci_node < count);
    DISTINIT_CHECK(machine.pci[static_cast<size_t>(gpu.pci_node)].address == gpu.pci);
  }
  for (const Hca& hca : machine.hcas) {
    DISTINIT_CHECK(hca.pci_node >= -1 && hca.pci_node < count && !hca.name.empty());
  }
}

void check_cpus(const Machine& machine) {
  CpuSet seen;
  for (const CpuSet& core : machine.cores) {
    DISTINIT_CHECK(!core.is_empty() && !core.intersects(seen));
    seen = seen | core;
  }
  DISTINIT_CHECK(seen == machine.cpus);
  for (const NumaNode& node : machine.numa) {
    DISTINIT_CHECK(node.cpus.is_subset_of(machine.cpus));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string xml(reinterpret_cast<const char*>(data), size);
  const auto kind = check_xml(xml, "fuzz");
  if (!kind) {
    DISTINIT_CHECK(!kind.error().what.empty());
    return 0;
  }
  const auto machine = *kind == XmlKind::kHwloc ? machine_from_hwloc_xml(xml, "fuzz")
                                                : machine_from_nccl_xml(xml, "fuzz");
  if (machine) {
    check_pci(*machine);
    check_cpus(*machine);
  }
  return 0;
}
