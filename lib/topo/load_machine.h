// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a Machine comes from: the running kernel through hwloc, sysfs and libibverbs, or a file.

#include "lib/base/finding.h"
#include "lib/base/result.h"
#include "lib/topo/machine.h"

#include <string>
#include <vector>

namespace distinit {

/// A recorded machine has its own; an empty text stands for the running one's.
struct SystemRoots {
  std::string sysfs;  ///< instead of /sys
  std::string proc;   ///< instead of /proc
};

/// An hwloc XML export (version 1 or 2) or an NCCL topology XML, told apart by its root element.
/// kTopology errors name the path and what is wrong: not there, cut off, too large, nested too
/// deeply, hwloc's version 3, a root element of neither kind.
Result<Machine> load_machine_file(const std::string& path);

/// Sets what hwloc takes from the environment, for good. To be called before there are threads:
/// where it was not, discover_machine sets it and puts it back, which no other thread may be
/// reading meanwhile.
void prepare_for_discovery();

/// The machine this runs on. One hwloc discovery, without the vendors' GPU back ends, which start
/// their drivers; then HCA ports and their GIDs from sysfs, what libibverbs lists, and NVIDIA's
/// minor numbers and UUIDs. kTopology error when hwloc itself fails; what is less goes to findings.
struct Discovery {
  Machine machine;
  std::vector<Finding> findings;
};
Result<Discovery> discover_machine(const SystemRoots& roots);

}  // namespace distinit
