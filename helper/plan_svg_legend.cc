// SPDX-License-Identifier: Apache-2.0
#include "helper/plan_svg_style.h"
#include "lib/base/text.h"
#include "lib/spec/dimensions.h"

#include <algorithm>

namespace distinit {

namespace {

constexpr double kRowHeight = 30;
constexpr double kNameX = 62;
constexpr double kExampleGap = 22;
constexpr int kMostExamples = 6;

enum class Drawn { kTile, kBadge, kNot };

struct Row {
  const GroupType* type;
  Drawn drawn = Drawn::kNot;
  SvgShape shape = SvgShape::kCircle;
  std::string summary;
};

std::string summary_of(const GroupType& type) {
  for (const DimensionHelp& known : known_dimensions()) {
    if (known.name == type.name) {
      return std::string(known.summary);
    }
  }
  std::string dims;
  int inside = 0;
  for (size_t i = 0; i < type.dims.size(); ++i) {
    if (type.inside[i]) {
      dims += concat(dims.empty() ? "" : " and ", type.dims[i].name);
      ++inside;
    }
  }
  return inside > 1 ? concat(dims, " together") : "";
}

std::vector<Row> rows_of(const Plan& plan, const PlanStyle& style) {
  std::vector<Row> rows;
  for (const GroupType& type : plan.mesh.group_types) {
    Row row{&type, Drawn::kNot, SvgShape::kCircle, summary_of(type)};
    if (&type == style.fill) {
      row.drawn = Drawn::kTile;
    }
    for (const BadgeType& badge : style.badges) {
      if (&type == badge.type) {
        row.drawn = Drawn::kBadge;
        row.shape = badge.shape;
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string counts_of(const GroupType& type) {
  return concat(format_quantity(group_count(type), "group"), " of ",
                format_count(group_size(type)));
}

void draw_mark(SvgWriter& svg, const Row& row, int group, double x, double middle, double size) {
  if (row.drawn == Drawn::kTile) {
    svg.rect(x - size / 2, middle - size / 2, size, size, 3,
             concat("fill=\"", tile_colour(group).fill, "\""));
  } else if (row.drawn == Drawn::kBadge) {
    svg.mark(row.shape, x, middle, size * 0.85, badge_colour(group));
  }
}

/// "■ 0-7   ■ 8-15   … 12,498 more", as many as there is room for.
void draw_examples(SvgWriter& svg, const Row& row, double x, double middle, double right) {
  const int count = group_count(*row.type);
  const double more_width = 90;
  for (int group = 0; group < count; ++group) {
    const std::string text = format_ranks(group_ranks(*row.type, group), 4);
    const double mark_width = row.drawn == Drawn::kNot ? 0 : 18;
    const double width = mark_width + estimate_text_width(text, 13);
    const bool is_last = group + 1 == count;
    if (group == kMostExamples || x + width + (is_last ? 0 : kExampleGap + more_width) > right) {
      svg.text(x, middle + 4.5, concat("… ", format_count(count - group), " more"), {13, kSoftInk});
      return;
    }
    draw_mark(svg, row, group, x + 7, middle, 13);
    svg.text(x + mark_width, middle + 4.5, text, {13, kInk});
    x += width + kExampleGap;
  }
}

void draw_row(SvgWriter& svg, const Row& row, double y, double summary_x, double count_x,
              double example_x, double right) {
  const double middle = y + kRowHeight / 2;
  const int marks = std::min(3, group_count(*row.type));
  for (int i = 0; i < marks; ++i) {
    draw_mark(svg, row, i, 8 + i * 17, middle, 14);
  }
  svg.text(kNameX, middle + 5, row.type->name, {15, kInk, true});
  svg.text(summary_x, middle + 4.5, row.summary, {13, kSoftInk});
  svg.text(count_x, middle + 4.5, counts_of(*row.type), {13, kInk});
  draw_examples(svg, row, example_x, middle, right);
}

bool colours_repeat(const PlanStyle& style) {
  return group_count(*style.fill) > kTileColourCount ||
         std::any_of(style.badges.begin(), style.badges.end(), [](const BadgeType& badge) {
           return group_count(*badge.type) > kBadgeColourCount;
         });
}

/// Lines of at most `width` pixels, broken at blanks.
std::vector<std::string> wrap(std::string_view text, double font_size, double width) {
  std::vector<std::string> lines(1);
  for (const std::string_view word : split(text, ' ')) {
    const std::string longer = concat(lines.back(), lines.back().empty() ? "" : " ", word);
    if (!lines.back().empty() && estimate_text_width(longer, font_size) > width) {
      lines.emplace_back(word);
    } else {
      lines.back() = longer;
    }
  }
  return lines;
}

double draw_finding(SvgWriter& svg, const Finding& finding, double y, double width) {
  const auto what = wrap(finding.what, 13, width - 40);
  const auto hint = wrap(finding.hint, 13, width - 40);
  const double height = 16 + 19 * static_cast<double>(what.size() + hint.size());
  svg.rect(0, y, width, height, 6, "fill=\"#fff4e5\" stroke=\"#e69f00\"");
  svg.mark(SvgShape::kTriangle, 17, y + 19, 12, "#d55e00");
  double base = y + 24;
  for (const std::string& line : what) {
    svg.text(32, base, line, {13, kInk, true});
    base += 19;
  }
  for (const std::string& line : hint) {
    svg.text(32, base, line, {13, kInk});
    base += 19;
  }
  return y + height + 8;
}

}  // namespace

double draw_legend(SvgWriter& svg, const Plan& plan, const PlanStyle& style, double y,
                   double width) {
  const std::vector<Row> rows = rows_of(plan, style);
  double name_width = 0;
  double summary_width = 0;
  double count_width = 0;
  for (const Row& row : rows) {
    name_width = std::max(name_width, estimate_text_width(row.type->name, 16));
    summary_width = std::max(summary_width, estimate_text_width(row.summary, 12));
    count_width = std::max(count_width, estimate_text_width(counts_of(*row.type), 12.5));
  }
  const double summary_x = kNameX + name_width + 14;
  const double count_x = summary_x + summary_width + 16;
  const double example_x = count_x + count_width + 20;
  for (const Row& row : rows) {
    svg.line(0, y, width, y, concat("stroke=\"", kRule, "\""));
    draw_row(svg, row, y, summary_x, count_x, example_x, width);
    y += kRowHeight;
  }
  svg.line(0, y, width, y, concat("stroke=\"", kRule, "\""));
  y += 14;
  for (const Finding& finding : plan.findings) {
    y = draw_finding(svg, finding, y, width);
  }
  std::string reading =
      concat("Large number: rank. GPU: local rank on its node. Tile colour: ", style.fill->name,
             " group.");
  for (const BadgeType& badge : style.badges) {
    reading += concat(&badge == &style.badges.front() ? " Badges: " : ", ", badge.type->name);
  }
  reading += style.badges.empty() ? "" : " group.";
  reading += colours_repeat(style) ? " Colours repeat, group numbers do not." : "";
  for (const std::string& line : wrap(reading, 11, width)) {
    svg.text(0, y + 12, line, {12, kSoftInk});
    y += 18;
  }
  return y;
}

}  // namespace distinit
