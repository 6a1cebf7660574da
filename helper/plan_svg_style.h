// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the parts of the picture share: which group types are drawn how, and the colours.

#include "helper/plan.h"
#include "helper/svg.h"

#include <string_view>
#include <vector>

namespace distinit {

constexpr std::string_view kInk = "#1f2933";
constexpr std::string_view kSoftInk = "#5f6b7a";
constexpr std::string_view kRule = "#d5dbe3";
constexpr std::string_view kNodeFill = "#f4f6f9";

/// A fill and the text colour that is readable on it.
struct TileColour {
  std::string_view fill;
  std::string_view ink;
};

constexpr int kTileColourCount = 8;
constexpr int kBadgeColourCount = 9;

/// Tile colours by group index, repeating. Okabe and Ito's palette, told apart by colour-blind
/// readers.
TileColour tile_colour(int group_index);
/// Badge colours by group index, repeating. Paul Tol's "muted" scheme.
std::string_view badge_colour(int group_index);

/// One badge in each tile.
struct BadgeType {
  const GroupType* type = nullptr;
  SvgShape shape = SvgShape::kCircle;
};

/// The types that are drawn in the tiles. Pointers into the plan's mesh.
struct PlanStyle {
  const GroupType* fill = nullptr;  ///< the innermost dimension larger than 1, else the innermost
  std::vector<BadgeType> badges;    ///< the next dimensions larger than 1, at most four
};

/// `plan` must outlive the result.
PlanStyle choose_style(const Plan& plan);

/// Draws the legend at (0, y) over the given width: a row for each group type, then the findings.
/// Returns the y below it.
double draw_legend(SvgWriter& svg, const Plan& plan, const PlanStyle& style, double y,
                   double width);

}  // namespace distinit
