// SPDX-License-Identifier: Apache-2.0
#pragma once
// What `distinit doctor` finds wrong with a host and the settings of a shell: pure functions.

#include "lib/base/environment.h"
#include "lib/base/finding.h"
#include "lib/topo/placement.h"

#include <string>
#include <vector>

#include <stdint.h>

namespace distinit {

/// A network interface that is up.
struct Interface {
  std::string name;
  std::vector<std::string> addresses;  ///< numeric, without link-local ones
  bool is_loopback = false;

  bool operator==(const Interface&) const = default;
};

constexpr uint64_t kUnlimited = UINT64_MAX;

/// What a host is, apart from its topology.
struct HostFacts {
  std::vector<Interface> interfaces;
  uint64_t memlock_bytes = kUnlimited;
  uint64_t open_files = kUnlimited;
  uint64_t shm_bytes = 0;  ///< size of /dev/shm; 0: not there
};

/// The variables of this environment that win over ours, or decide what a job sees, by name.
std::vector<std::string> deciding_variables(const Environment& environment);

/// One finding for each setting that breaks or slows a job.
std::vector<Finding> check_settings(const Environment& environment, const Machine& machine,
                                    const NodePlan& plan, const HostFacts& host);

/// Limits and shared memory.
std::vector<Finding> check_host(const Machine& machine, const HostFacts& host);

}  // namespace distinit
