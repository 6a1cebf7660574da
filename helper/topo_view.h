// SPDX-License-Identifier: Apache-2.0
#pragma once
// A machine and the plan of its tasks, and how `distinit topo` shows them.

#include "lib/base/result.h"
#include "lib/topo/placement.h"

#include <optional>
#include <string>

namespace distinit {

struct TopoView {
  Machine machine;
  PlacementInput input;
  NodePlan plan;
};

/// Reads `file`, or this machine where there is none, and plans `tasks` on it (0: one for each
/// GPU). Here the affinity mask and the variables of this process count.
Result<TopoView> view_machine(const std::optional<std::string>& file, int tasks);

/// Design section 6; `nearest`, `paths` and tasks' `hcas` name devices, `hcas` has an entry a port.
std::string format_topo_json(const TopoView& view);

/// The matrix as `nvidia-smi topo -m` has it, the ports, the tasks, and (where wanted) the
/// findings.
std::string format_topo_text(const TopoView& view, bool with_findings);

}  // namespace distinit
