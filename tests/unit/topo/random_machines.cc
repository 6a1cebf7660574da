// SPDX-License-Identifier: Apache-2.0
// What must hold of every plan, on machines that nobody thought of.

#include "lib/topo/placement.h"

#include "tests/unit/topo/machines.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

using namespace distinit;

namespace {

/// Draws a machine and tasks; the same seed draws the same.
class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}

  int number(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool chance(int percent) { return number(1, 100) <= percent; }

  Machine machine() {
    MachineBuilder builder;
    const int packages = number(1, 4);
    const int numa_each = number(1, 4);
    const int cores_each = number(1, 8);
    const int threads = number(1, 4);
    const int stride = packages * numa_each * cores_each;
    for (int node = 0; node < packages * numa_each; ++node) {
      builder.numa(node, node * cores_each, cores_each, threads, stride);
    }
    for (int package = 0; package < packages; ++package) {
      CpuSet own;
      for (int node = package * numa_each; node < (package + 1) * numa_each; ++node) {
        own = own | builder.draft().numa[static_cast<size_t>(node)].cpus;
      }
      builder.package(package, own.format());
    }
    std::vector<int> parents;
    for (int i = number(1, 6); i > 0; --i) {
      // Near one NUMA node, or a whole package.
      std::vector<int> near = {number(0, packages * numa_each - 1)};
      if (chance(30)) {
        const int package = near[0] / numa_each;
        near.clear();
        for (int node = package * numa_each; node < (package + 1) * numa_each; ++node) {
          near.push_back(node);
        }
      }
      const int root = builder.host_bridge(near);
      parents.push_back(root);
      for (int j = number(0, 3); j > 0; --j) {
        const int upstream = builder.pcie_switch(root);
        parents.push_back(builder.bridge(upstream));
        parents.push_back(builder.bridge(upstream));
      }
    }
    std::vector<int> buses(64);
    for (size_t i = 0; i < buses.size(); ++i) {
      buses[i] = static_cast<int>(i);
    }
    std::shuffle(buses.begin(), buses.end(), random_);
    size_t next = 0;
    const auto address = [&] {
      return format_pci_address(PciAddress{0, static_cast<uint8_t>(buses[next++]), 0, 0});
    };
    const auto parent = [&] {
      return parents[static_cast<size_t>(number(0, static_cast<int>(parents.size()) - 1))];
    };
    for (int i = number(0, 16); i > 0; --i) {
      builder.gpu(parent(), address());
    }
    const int hcas = number(0, 16);
    for (int i = 0; i < hcas; ++i) {
      Hca& hca = builder.hca(parent(), address(), "mlx5_" + std::to_string(i),
                             chance(80) ? LinkLayer::kInfiniBand : LinkLayer::kEthernet);
      hca.state = chance(85) ? PortState::kActive : PortState::kDown;
      hca.rate_gbps = chance(80) ? 200 : 100;
    }
    return builder.finish();
  }

  PlacementInput tasks(const Machine& machine) {
    CpuSet mask;
    for (const CpuSet& core : machine.cores) {
      if (chance(75)) {
        mask = mask | core;
      }
    }
    if (mask.is_empty()) {
      mask = machine.cpus;
    }
    return make_tasks(number(1, 20), "-", mask.format());
  }

  /// The same machine, its HCAs' names dealt anew.
  Machine renamed(const Machine& machine) {
    std::vector<std::string> names;
    for (const Hca& hca : machine.hcas) {
      names.push_back(hca.name);
    }
    std::shuffle(names.begin(), names.end(), random_);
    Machine out = machine;
    for (size_t i = 0; i < names.size(); ++i) {
      out.hcas[i].name = names[i];
    }
    return out;
  }

 private:
  std::mt19937 random_;
};

void check_gpus(const Machine& machine, const NodePlan& plan) {
  std::vector<int> given;
  for (const TaskPlan& task : plan.tasks) {
    cr_assert(machine.gpus.empty() == task.gpus.empty());
    given.insert(given.end(), task.gpus.begin(), task.gpus.end());
  }
  std::sort(given.begin(), given.end());
  const bool twice = std::adjacent_find(given.begin(), given.end()) != given.end();
  cr_assert_eq(twice, !machine.gpus.empty() && machine.gpus.size() < plan.tasks.size());
}

std::vector<size_t> cores_in(const Machine& machine, const CpuSet& set) {
  std::vector<size_t> cores;
  for (size_t i = 0; i < machine.cores.size(); ++i) {
    if (machine.cores[i].intersects(set)) {
      cores.push_back(i);
    }
  }
  return cores;
}

bool find_core(const std::vector<std::vector<size_t>>& wanted, size_t task,
               std::map<size_t, size_t>& owner, std::set<size_t>& tried) {
  for (const size_t core : wanted[task]) {
    if (tried.insert(core).second &&
        (!owner.contains(core) || find_core(wanted, owner[core], owner, tried))) {
      owner[core] = task;
      return true;
    }
  }
  return false;
}

/// Whether every task could have a core of its own (a matching by augmenting paths).
bool can_be_disjoint(const std::vector<std::vector<size_t>>& wanted) {
  std::map<size_t, size_t> owner;
  for (size_t task = 0; task < wanted.size(); ++task) {
    std::set<size_t> tried;
    if (!find_core(wanted, task, owner, tried)) {
      return false;
    }
  }
  return true;
}

void check_cpus(const Machine& machine, const PlacementInput& input, const NodePlan& plan) {
  const CpuSet& mask = input.tasks[0].cpus;
  CpuSet all;
  std::vector<std::vector<size_t>> wanted;
  int sum = 0;
  for (const TaskPlan& task : plan.tasks) {
    cr_assert(task.binds_cpus && !task.cpus.is_empty() && task.cpus.is_subset_of(mask));
    for (const CpuSet& core : machine.cores) {
      cr_assert(!core.intersects(task.cpus) || (core & mask).is_subset_of(task.cpus),
                "half a core");
    }
    CpuSet near;
    for (const int gpu : task.gpus) {
      near = near | locality_of(machine, machine.gpus[static_cast<size_t>(gpu)].pci_node).cpus;
    }
    cr_assert(!near.intersects(mask) || task.cpus.is_subset_of(near), "far from its GPU");
    wanted.push_back(cores_in(machine, near.intersects(mask) ? near & mask : mask));
    all = all | task.cpus;
    sum += task.cpus.count();
  }
  cr_assert(sum == all.count() || !can_be_disjoint(wanted), "shares overlap without need");
}

void check_rails(const Machine& machine, const NodePlan& plan) {
  std::vector<int> usable;
  for (size_t i = 0; i < plan.ports.size(); ++i) {
    if (plan.ports[i].usable) {
      usable.push_back(static_cast<int>(i));
    }
  }
  for (const TaskPlan& task : plan.tasks) {
    cr_assert(task.hcas.size() <= task.gpus.size());
    cr_assert(usable.empty() || task.gpus.empty() || !task.hcas.empty());
    for (const int hca : task.hcas) {
      const bool nearest = std::any_of(task.gpus.begin(), task.gpus.end(), [&](int gpu) {
        const auto set = nearest_hcas(plan.matrix, gpu, usable);
        return std::find(set.begin(), set.end(), hca) != set.end();
      });
      cr_assert(nearest, "a rail that is not among the nearest");
    }
  }
  cr_assert_eq(plan.ib_hca.empty(), usable.empty());
  cr_assert_leq(plan.nearest.size(), machine.gpus.size());
}

}  // namespace

Test(random_machines, every_plan_holds_what_is_promised) {
  const char* given = getenv("DISTINIT_TEST_SEED");
  const unsigned seed =
      given == nullptr ? std::random_device()() : static_cast<unsigned>(atoll(given));
  printf("DISTINIT_TEST_SEED=%u\n", seed);
  fflush(stdout);
  for (unsigned i = 0; i < 400; ++i) {
    Draw draw(seed + i);
    const Machine machine = draw.machine();
    const PlacementInput input = draw.tasks(machine);
    const NodePlan plan = plan_node(machine, input);
    check_gpus(machine, plan);
    check_cpus(machine, input, plan);
    check_rails(machine, plan);
    const NodePlan other = plan_node(draw.renamed(machine), input);
    cr_assert(other.tasks == plan.tasks && other.nearest == plan.nearest, "names decide");
  }
}
