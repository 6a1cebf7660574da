// SPDX-License-Identifier: Apache-2.0
#pragma once
// A machine and the plan of its tasks, and how `distinit topo` shows them.

#include "lib/topo/placement.h"

#include <string>

namespace distinit {

struct TopoView {
  Machine machine;
  PlacementInput input;
  NodePlan plan;
};

/// Design section 6; `nearest`, `paths` and tasks' `hcas` name devices, `hcas` has an entry a port.
std::string format_topo_json(const TopoView& view);

/// The matrix as `nvidia-smi topo -m` has it, the ports, the tasks.
std::string format_topo_text(const TopoView& view);

}  // namespace distinit
