// SPDX-License-Identifier: Apache-2.0
#include "lib/topo/hwloc_tree.h"

#include <algorithm>

namespace distinit {

namespace {

std::vector<int> nodes_with(const Machine& machine, const CpuSet& cpus) {
  std::vector<int> out;
  for (const NumaNode& node : machine.numa) {
    if (node.cpus.intersects(cpus)) {
      out.push_back(node.number);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

void settle_cores(Machine& machine) {
  CpuSet in_cores;
  for (CpuSet& core : machine.cores) {
    core = core & machine.cpus;
    in_cores = in_cores | core;
  }
  std::erase_if(machine.cores, [](const CpuSet& core) { return core.is_empty(); });
  for (const int cpu : (machine.cpus - in_cores).members()) {
    machine.cores.push_back(CpuSet::range(cpu, cpu));
  }
  std::sort(machine.cores.begin(), machine.cores.end(),
            [](const CpuSet& a, const CpuSet& b) { return a.first() < b.first(); });
}

}  // namespace

bool settle_cpus(Machine& machine, const CpuSet& threads) {
  if (machine.cpus.is_empty()) {
    machine.cpus = threads;
  } else if (!threads.is_empty()) {
    machine.cpus = machine.cpus & threads;
  }
  settle_cores(machine);
  // hwloc 1 wrote none for a machine that has but one.
  if (machine.numa.empty()) {
    machine.numa.push_back({0, machine.cpus});
  }
  for (NumaNode& node : machine.numa) {
    node.cpus = node.cpus & machine.cpus;
  }
  for (Package& package : machine.packages) {
    package.cpus = package.cpus & machine.cpus;
  }
  return !machine.cpus.is_empty();
}

void settle_localities(Machine& machine, const std::vector<CpuSet>& root_nodes) {
  CpuSet known;
  for (const NumaNode& node : machine.numa) {
    known.add(node.number);
  }
  auto nodes = root_nodes.begin();
  for (PciNode& node : machine.pci) {
    Locality& own = node.locality;
    if (node.parent >= 0) {
      own = machine.pci[static_cast<size_t>(node.parent)].locality;
      continue;
    }
    own.cpus = own.cpus & machine.cpus;
    own.numa = (*nodes++ & known).members();
    if (own.numa.empty()) {
      own.numa = nodes_with(machine, own.cpus);
    }
  }
}

}  // namespace distinit
