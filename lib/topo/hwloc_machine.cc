// SPDX-License-Identifier: Apache-2.0
#include "lib/base/text.h"
#include "lib/topo/hwloc_tree.h"
#include "lib/topo/load_machine.h"
#include "lib/topo/readers.h"

#include <optional>
#include <utility>
#include <vector>

#include <errno.h>
#include <hwloc.h>
#include <stdlib.h>

namespace distinit {

namespace {

/// Would make hwloc believe in another machine.
constexpr const char* kMisleading[] = {"HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_CPUID_PATH"};

/// Sets environment variables (nullopt: removes them) and puts them back. hwloc has no other way to
/// be told these. A variable that is as wanted is left alone, so that on a running node, where
/// normally all are, nothing is written while other threads read.
class EnvironmentGuard {
 public:
  void set(const char* name, std::optional<std::string> wanted) {
    auto before = current(name);
    if (before == wanted) {
      return;
    }
    put(name, wanted);
    saved_.emplace_back(name, std::move(before));
  }
  EnvironmentGuard() = default;
  EnvironmentGuard(const EnvironmentGuard&) = delete;
  EnvironmentGuard& operator=(const EnvironmentGuard&) = delete;
  ~EnvironmentGuard() {
    for (const auto& [name, value] : saved_) {
      put(name, value);
    }
  }

 private:
  static std::optional<std::string> current(const char* name) {
    const char* value = getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  }
  static void put(const char* name, const std::optional<std::string>& value) {
    if (value) {
      setenv(name, value->c_str(), 1);
    } else {
      unsetenv(name);
    }
  }

  std::vector<std::pair<const char*, std::optional<std::string>>> saved_;
};

/// Owns a topology.
class Topology {
 public:
  Topology() { is_made_ = hwloc_topology_init(&topology_) == 0; }
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;
  ~Topology() {
    if (is_made_) {
      hwloc_topology_destroy(topology_);
    }
  }

  bool is_made() const { return is_made_; }
  hwloc_topology_t get() const { return topology_; }

 private:
  hwloc_topology_t topology_ = nullptr;
  bool is_made_ = false;
};

/// The recorded folder that has these as its sys and proc; empty when they are the running node's.
Result<std::string> common_root(const SystemRoots& roots) {
  constexpr std::string_view kSys = "/sys";
  const std::string_view sysfs = roots.sysfs;
  if (sysfs.empty() && roots.proc.empty()) {
    return std::string();
  }
  const std::string root(sysfs.ends_with(kSys) ? sysfs.substr(0, sysfs.size() - kSys.size()) : "");
  if (root.empty() || (!roots.proc.empty() && roots.proc != root + "/proc")) {
    return Error{ErrorCode::kTopology,
                 concat("hwloc can't read '", roots.sysfs, "' and '", roots.proc, "' together"),
                 "they have to be the folders sys and proc of one folder", 0};
  }
  return root;
}

/// hwloc prints what it dislikes in a kernel's or firmware's tables, and would believe a file or
/// another machine that the user's environment names.
void prepare_environment(EnvironmentGuard& guard, const std::string& root) {
  // hwloc looks at this one once; a value that is put back later is not seen.
  guard.set("HWLOC_HIDE_ERRORS", "2");
  for (const char* name : kMisleading) {
    guard.set(name, std::nullopt);
  }
  const bool is_recorded = !root.empty();
  const auto recorded = [&](const char* value) {
    return is_recorded ? std::optional<std::string>(value) : std::nullopt;
  };
  guard.set("HWLOC_FSROOT", recorded(root.c_str()));
  guard.set("HWLOC_THISSYSTEM", recorded("0"));
  guard.set("HWLOC_COMPONENTS", recorded("linux,stop"));
}

/// The GPU back ends start their drivers, which takes seconds; x86 moves the thread over all CPUs.
/// Names that this hwloc does not have are refused, which is as good.
bool configure(hwloc_topology_t topology) {
  for (const char* name : {"cuda", "nvml", "opencl", "gl", "levelzero", "rsmi", "x86"}) {
    hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, name);
  }
  return hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) == 0 &&
         hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) == 0 &&
         hwloc_topology_set_cache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE) == 0;
}

/// The XML of what hwloc finds.
Result<std::string> discover_xml(const std::string& root) {
  EnvironmentGuard guard;
  prepare_environment(guard, root);
  const Topology topology;
  if (!topology.is_made() || !configure(topology.get()) ||
      hwloc_topology_load(topology.get()) != 0) {
    return system_error(ErrorCode::kTopology, "hwloc can't discover this node", errno,
                        "give a file instead: topology=FILE in the SPEC");
  }
  char* buffer = nullptr;
  int length = 0;
  if (hwloc_topology_export_xmlbuffer(topology.get(), &buffer, &length, 0) != 0) {
    return system_error(ErrorCode::kTopology, "hwloc can't export what it has found", errno);
  }
  // The length includes the NUL at the end.
  std::string xml(buffer);
  hwloc_free_xmlbuffer(topology.get(), buffer);
  return xml;
}

}  // namespace

void prepare_for_discovery() {
  setenv("HWLOC_HIDE_ERRORS", "2", 1);
  for (const char* name : kMisleading) {
    unsetenv(name);
  }
  for (const char* name : {"HWLOC_FSROOT", "HWLOC_THISSYSTEM", "HWLOC_COMPONENTS"}) {
    unsetenv(name);
  }
}

Result<Machine> machine_from_hwloc_xml(const std::string& xml, const std::string& source) {
  DISTINIT_ASSIGN_OR_RETURN(HwlocTree tree, read_hwloc_tree(xml, source));
  add_gpus(tree);
  add_hcas(tree);
  tree.machine.source = source;
  finish_machine(tree.machine);
  return std::move(tree.machine);
}

Result<Machine> machine_from_hwloc(const SystemRoots& roots) {
  DISTINIT_ASSIGN_OR_RETURN(const std::string root, common_root(roots));
  DISTINIT_ASSIGN_OR_RETURN(const std::string xml, discover_xml(root));
  return machine_from_hwloc_xml(xml, root.empty() ? "this node" : root);
}

}  // namespace distinit
