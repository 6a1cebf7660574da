// SPDX-License-Identifier: Apache-2.0
#pragma once
// A plan as a picture: nodes as boxes, ranks as tiles inside, groups by colour, and a legend.

#include "helper/plan.h"

#include <string>

namespace distinit {

/// One SVG document. A tile's colour is its group of the innermost dimension; its badges are its
/// groups of the other dimensions, each with its own shape. A large job is summarised: the first
/// nodes are drawn, the picture says how many more there are, and the legend describes all groups.
std::string format_plan_svg(const Plan& plan);

}  // namespace distinit
