// SPDX-License-Identifier: Apache-2.0
#pragma once
// Machines made in code, for the tests of the policy.

#include "lib/topo/placement.h"
#include "lib/topo/readers.h"

#include <string>
#include <vector>

namespace distinit {

inline CpuSet cpus(std::string_view list) {
  return CpuSet::parse_list(list).value();
}

inline PciAddress bus(std::string_view text) {
  return parse_pci_address(text).value();
}

/// Grows a machine piece by piece; finish() gives it.
class MachineBuilder {
 public:
  /// A NUMA node of `cores` cores with `threads` threads each: CPU c, c + stride, … of a core.
  MachineBuilder& numa(int number, int first_core, int cores, int threads = 1, int stride = 0) {
    NumaNode node{number, {}};
    for (int core = first_core; core < first_core + cores; ++core) {
      CpuSet own;
      for (int thread = 0; thread < threads; ++thread) {
        own.add(core + thread * stride);
      }
      machine_.cores.push_back(own);
      node.cpus = node.cpus | own;
    }
    machine_.cpus = machine_.cpus | node.cpus;
    machine_.numa.push_back(std::move(node));
    return *this;
  }

  MachineBuilder& package(int number, std::string_view list) {
    machine_.packages.push_back(Package{number, cpus(list)});
    return *this;
  }

  /// Index of a host bridge that is near these NUMA nodes.
  int host_bridge(const std::vector<int>& numa) {
    PciNode node;
    node.kind = PciKind::kHostBridge;
    node.locality.numa = numa;
    for (const NumaNode& one : machine_.numa) {
      for (const int number : numa) {
        if (one.number == number) {
          node.locality.cpus = node.locality.cpus | one.cpus;
        }
      }
    }
    return add(std::move(node));
  }

  int bridge(int parent, PciKind kind = PciKind::kBridge) {
    PciNode node;
    node.kind = kind;
    node.parent = parent;
    node.locality = machine_.pci[static_cast<size_t>(parent)].locality;
    return add(std::move(node));
  }

  /// A switch as the kernel shows it: the upstream bridge; ports are bridges below it.
  int pcie_switch(int host_bridge) { return bridge(bridge(host_bridge)); }

  MachineBuilder& gpu(int parent, std::string_view address, GpuVendor vendor = GpuVendor::kNvidia) {
    Gpu gpu;
    gpu.pci = bus(address);
    gpu.pci_node = device(parent, address);
    gpu.vendor = vendor;
    machine_.gpus.push_back(std::move(gpu));
    return *this;
  }

  Hca& hca(int parent, std::string_view address, std::string name,
           LinkLayer link = LinkLayer::kInfiniBand) {
    Hca hca;
    hca.name = std::move(name);
    hca.pci = bus(address);
    hca.pci_node = device(parent, address);
    hca.link = link;
    hca.state = PortState::kActive;
    machine_.hcas.push_back(std::move(hca));
    return machine_.hcas.back();
  }

  Machine& draft() { return machine_; }

  Machine finish() {
    Machine out = machine_;
    finish_machine(out);
    return out;
  }

 private:
  int add(PciNode node) {
    machine_.pci.push_back(std::move(node));
    return static_cast<int>(machine_.pci.size()) - 1;
  }

  int device(int parent, std::string_view address) {
    PciNode node;
    node.parent = parent;
    node.address = bus(address);
    node.locality = machine_.pci[static_cast<size_t>(parent)].locality;
    return add(std::move(node));
  }

  Machine machine_;
};

/// `gpus` on one host bridge of NUMA node 0 with 16 cores, buses 10, 11, …
inline Machine simple_machine(int gpus, GpuVendor vendor = GpuVendor::kNvidia) {
  MachineBuilder builder;
  builder.numa(0, 0, 16).package(0, "0-15");
  const int root = builder.host_bridge({0});
  for (int i = 0; i < gpus; ++i) {
    builder.gpu(builder.bridge(root), "0000:1" + std::to_string(i) + ":00.0", vendor);
  }
  return builder.finish();
}

/// `count` tasks with this CUDA_VISIBLE_DEVICES ("-": unset) and mask.
inline PlacementInput make_tasks(int count, const std::string& cuda = "-",
                                 const std::string& mask = "0-15") {
  PlacementInput input;
  for (int i = 0; i < count; ++i) {
    TaskGrant grant;
    grant.local_rank = i;
    grant.has_cuda = cuda != "-";
    grant.cuda = grant.has_cuda ? cuda : "";
    grant.cpus = cpus(mask);
    input.tasks.push_back(std::move(grant));
  }
  return input;
}

}  // namespace distinit
