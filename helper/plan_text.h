// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plan as a table to read.

#include "helper/plan.h"

#include <string>

namespace distinit {

/// The mesh, the nodes, the groups and the ranks in plain columns. Long lists are cut, and say so.
/// `colour`: headings stand out by terminal escapes.
std::string format_plan_text(const Plan& plan, bool colour);

}  // namespace distinit
