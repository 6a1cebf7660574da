// SPDX-License-Identifier: Apache-2.0
#include "helper/plan_svg.h"

#include "helper/plan_svg_style.h"
#include "lib/base/text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace distinit {

namespace {

constexpr double kMargin = 36;
constexpr double kNarrowest = 860;  // of the content, so that the legend has room
constexpr double kLargestScale = 1.6;
constexpr double kTileWidth = 88;
constexpr double kTileGap = 8;
constexpr double kTileHead = 58;
constexpr double kBadgeHeight = 18;
constexpr double kNodePadding = 14;
constexpr double kNodeHead = 34;
constexpr double kNodeGap = 18;
constexpr double kSmallestName = 9;
constexpr int kMostTiles = 16;  // in a node
constexpr int kMostNodes = 24;  // drawn whole
constexpr int kMostTilesDrawn = 192;
constexpr double kWantedAspect = 2;  // of the grid of nodes; title and legend make it 16:10

/// The grid of node boxes in its own pixels.
struct Geometry {
  int nodes_drawn = 0;
  bool has_rest = false;  // a box for the nodes that are left
  int tiles_shown = 0;    // at most, in a node
  int tile_columns = 1;
  int tile_rows = 1;
  int columns = 1;
  int rows = 1;
  double tile_height = 0;
  double node_width = 0;
  double node_height = 0;

  double width() const { return columns * (node_width + kNodeGap) - kNodeGap; }
  double height() const { return rows * (node_height + kNodeGap) - kNodeGap; }
};

int most_tasks(const Plan& plan) {
  size_t most = 1;
  for (const NodeRanks& node : plan.layout.nodes) {
    most = std::max(most, node.ranks.size());
  }
  return static_cast<int>(most);
}

void choose_node_columns(Geometry& g) {
  const int boxes = g.nodes_drawn + (g.has_rest ? 1 : 0);
  double best = -1;
  for (int columns = 1; columns <= boxes; ++columns) {
    Geometry candidate = g;
    candidate.columns = columns;
    candidate.rows = (boxes + columns - 1) / columns;
    const int unused = columns * candidate.rows - boxes;
    const double off =
        std::abs(std::log(candidate.width() / candidate.height() / kWantedAspect)) + 0.3 * unused;
    if (best < 0 || off < best) {
      best = off;
      g.columns = candidate.columns;
      g.rows = candidate.rows;
    }
  }
}

Geometry choose_geometry(const Plan& plan, size_t badge_count) {
  Geometry g;
  const int node_count = static_cast<int>(plan.layout.nodes.size());
  const int tasks = most_tasks(plan);
  g.tiles_shown = std::min(tasks, kMostTiles);
  const bool draws_all = node_count <= kMostNodes && node_count * g.tiles_shown <= kMostTilesDrawn;
  g.nodes_drawn = draws_all ? node_count : std::min(node_count, g.tiles_shown > 8 ? 5 : 7);
  g.has_rest = g.nodes_drawn < node_count;
  g.tile_columns = g.tiles_shown <= 4 ? g.tiles_shown : g.tiles_shown <= 6 ? 3 : 4;
  g.tile_rows = (g.tiles_shown + g.tile_columns - 1) / g.tile_columns;
  g.tile_height =
      kTileHead + (badge_count == 0 ? 0 : static_cast<double>(badge_count) * kBadgeHeight + 4);
  g.node_width = 2 * kNodePadding + g.tile_columns * (kTileWidth + kTileGap) - kTileGap;
  g.node_height = kNodeHead + kNodePadding + g.tile_rows * (g.tile_height + kTileGap) - kTileGap;
  choose_node_columns(g);
  return g;
}

void draw_tile(SvgWriter& svg, const PlanStyle& style, int rank, int local_rank, double x, double y,
               double height) {
  const int group = membership(*style.fill, rank).index;
  const TileColour colour = tile_colour(group);
  svg.rect(x, y, kTileWidth, height, 8, concat("fill=\"", colour.fill, "\""));
  const std::string number = concat(rank);
  svg.text(x + kTileWidth / 2, y + 32, number,
           {fitting_size(number, 26, kTileWidth - 20), colour.ink, true, "middle"});
  const std::string place = concat("GPU ", local_rank, " · ", style.fill->name, ' ', group);
  svg.text(x + kTileWidth / 2, y + 49, place,
           {fitting_size(place, 11.5, kTileWidth - 8), colour.ink, false, "middle"});
  double badge_y = y + kTileHead;
  for (const BadgeType& badge : style.badges) {
    const int index = membership(*badge.type, rank).index;
    svg.rect(x + 6, badge_y, kTileWidth - 12, kBadgeHeight - 3, 7.5,
             "fill=\"#ffffff\" fill-opacity=\"0.93\"");
    svg.mark(badge.shape, x + 16, badge_y + 7.5, 9, badge_colour(index));
    const std::string label = concat(badge.type->name, ' ', index);
    svg.text(x + 26, badge_y + 11.5, label, {fitting_size(label, 11, kTileWidth - 34), kInk, true});
    badge_y += kBadgeHeight;
  }
}

/// A long name without its middle, so that what is left stays readable; the end tells nodes apart.
std::string shorten_name(const std::string& name, double width) {
  const auto most = static_cast<size_t>(width / estimate_text_width("n", kSmallestName));
  if (name.size() <= most || most < 4) {
    return name;
  }
  const size_t head = (most - 1) / 2;
  return concat(name.substr(0, head), "…", name.substr(name.size() - (most - 1 - head)));
}

void draw_node(SvgWriter& svg, const PlanStyle& style, const Geometry& g, const NodeRanks& node,
               double x, double y) {
  svg.rect(x, y, g.node_width, g.node_height, 12,
           concat("fill=\"", kNodeFill, "\" stroke=\"", kRule, "\" stroke-width=\"1.5\""));
  const std::string right = concat("node ", node.group_rank);
  const bool has_right = g.tile_columns > 1;
  const double room =
      g.node_width - 2 * kNodePadding - (has_right ? estimate_text_width(right, 12) + 8 : 0);
  const std::string name = shorten_name(node.name, room);
  svg.text(x + kNodePadding, y + 23, name, {fitting_size(name, 15, room), kInk, true});
  if (has_right) {
    svg.text(x + g.node_width - kNodePadding, y + 23, right, {12, kSoftInk, false, "end"});
  }
  const int count = static_cast<int>(node.ranks.size());
  for (int i = 0; i < std::min(count, g.tiles_shown); ++i) {
    const int column = i % g.tile_columns;
    const int row = i / g.tile_columns;
    const double tile_x = x + kNodePadding + column * (kTileWidth + kTileGap);
    const double tile_y = y + kNodeHead + row * (g.tile_height + kTileGap);
    if (i + 1 == g.tiles_shown && count > g.tiles_shown) {
      svg.rect(tile_x, tile_y, kTileWidth, g.tile_height, 8,
               "fill=\"none\" stroke=\"#9aa5b1\" stroke-dasharray=\"5 4\"");
      svg.text(tile_x + kTileWidth / 2, tile_y + 30, concat('+', count - i),
               {18, kSoftInk, true, "middle"});
      svg.text(tile_x + kTileWidth / 2, tile_y + 47, "ranks", {11.5, kSoftInk, false, "middle"});
      return;
    }
    draw_tile(svg, style, node.ranks[static_cast<size_t>(i)], i, tile_x, tile_y, g.tile_height);
  }
}

void draw_rest(SvgWriter& svg, const Plan& plan, const Geometry& g, double x, double y) {
  svg.rect(x, y, g.node_width, g.node_height, 12,
           "fill=\"none\" stroke=\"#9aa5b1\" stroke-width=\"1.5\" stroke-dasharray=\"7 6\"");
  long long ranks = 0;
  for (size_t i = static_cast<size_t>(g.nodes_drawn); i < plan.layout.nodes.size(); ++i) {
    ranks += static_cast<long long>(plan.layout.nodes[i].ranks.size());
  }
  const auto nodes = static_cast<long long>(plan.layout.nodes.size()) - g.nodes_drawn;
  const double middle = x + g.node_width / 2;
  const std::string text =
      concat("… ", format_count(nodes), nodes == 1 ? " more node" : " more nodes");
  const double size = fitting_size(text, 22, g.node_width - 20);
  svg.text(middle, y + g.node_height / 2 - 2, text, {size, kSoftInk, true, "middle"});
  svg.text(middle, y + g.node_height / 2 + 20, concat("with ", format_quantity(ranks, "rank")),
           {std::min(14.0, size), kSoftInk, false, "middle"});
}

void draw_grid(SvgWriter& svg, const Plan& plan, const PlanStyle& style, const Geometry& g) {
  const auto place = [&](int box) {
    const int column = box % g.columns;
    const int row = box / g.columns;
    return std::pair(column * (g.node_width + kNodeGap), row * (g.node_height + kNodeGap));
  };
  for (int i = 0; i < g.nodes_drawn; ++i) {
    const auto [x, y] = place(i);
    draw_node(svg, style, g, plan.layout.nodes[static_cast<size_t>(i)], x, y);
  }
  if (g.has_rest) {
    const auto [x, y] = place(g.nodes_drawn);
    draw_rest(svg, plan, g, x, y);
  }
}

std::string describe_job(const Plan& plan, const Geometry& g) {
  std::string mesh;
  for (const Dimension& dimension : plan.mesh.dims) {
    mesh += concat(mesh.empty() ? "" : " × ", dimension.name, ' ', dimension.size);
  }
  const auto nodes = static_cast<long long>(plan.layout.nodes.size());
  std::string text =
      concat(format_quantity(plan.mesh.world_size, "rank"), " on ", format_quantity(nodes, "node"),
             "  ·  ", mesh, ", innermost first  ·  ", plan.distribution, " distribution");
  if (g.has_rest) {
    text += concat("  ·  summarised: the first ", g.nodes_drawn, " nodes are drawn");
  }
  return text;
}

}  // namespace

std::string format_plan_svg(const Plan& plan) {
  const PlanStyle style = choose_style(plan);
  const Geometry g = choose_geometry(plan, style.badges.size());
  const double scale = std::clamp(kNarrowest / g.width(), 1.0, kLargestScale);
  const double width = std::max(g.width() * scale, kNarrowest);
  const std::string job = describe_job(plan, g);
  SvgWriter svg;
  svg.begin_group(fmt::format("transform=\"translate({0:g} {0:g})\"", kMargin));
  const std::string spec = plan.spec.size() > 120 ? plan.spec.substr(0, 119) + "…" : plan.spec;
  svg.text(0, 24, spec, {fitting_size(spec, 30, width), kInk, true});
  svg.text(0, 52, job, {fitting_size(job, 15, width), kSoftInk});
  const double grid_y = 78;
  svg.begin_group(fmt::format("transform=\"translate({:g} {:g}) scale({:.4g})\"",
                              (width - g.width() * scale) / 2, grid_y, scale));
  draw_grid(svg, plan, style, g);
  svg.end_group();
  const double bottom = draw_legend(svg, plan, style, grid_y + g.height() * scale + 26, width);
  svg.end_group();
  return svg.finish(width + 2 * kMargin, bottom + 2 * kMargin - 12,
                    concat("distinit plan ", plan.spec), job);
}

}  // namespace distinit
