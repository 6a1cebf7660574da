// SPDX-License-Identifier: Apache-2.0
#include "helper/plan_svg_style.h"

#include <iterator>

namespace distinit {

namespace {

constexpr TileColour kTileColours[kTileColourCount] = {
    {"#0072b2", "#ffffff"}, {"#e69f00", "#1f1300"}, {"#009e73", "#ffffff"}, {"#cc79a7", "#26101c"},
    {"#56b4e9", "#06202f"}, {"#d55e00", "#ffffff"}, {"#f0e442", "#2b2900"}, {"#6b7280", "#ffffff"},
};

constexpr std::string_view kBadgeColours[kBadgeColourCount] = {
    "#332288", "#44aa99", "#cc6677", "#ddaa33", "#117733",
    "#88ccee", "#882255", "#999933", "#aa4499",
};

constexpr SvgShape kShapes[] = {SvgShape::kCircle, SvgShape::kSquare, SvgShape::kDiamond,
                                SvgShape::kTriangle};

}  // namespace

TileColour tile_colour(int group_index) {
  return kTileColours[group_index % kTileColourCount];
}

std::string_view badge_colour(int group_index) {
  return kBadgeColours[group_index % kBadgeColourCount];
}

PlanStyle choose_style(const Plan& plan) {
  PlanStyle style;
  for (size_t i = 0; i < plan.mesh.dims.size(); ++i) {
    const GroupType& type = plan.mesh.group_types[i];
    if (plan.mesh.dims[i].size == 1) {
      continue;
    }
    if (style.fill == nullptr) {
      style.fill = &type;
    } else if (style.badges.size() < std::size(kShapes)) {
      style.badges.push_back({&type, kShapes[style.badges.size()]});
    }
  }
  if (style.fill == nullptr) {
    style.fill = &plan.mesh.group_types[0];
  }
  return style;
}

}  // namespace distinit
