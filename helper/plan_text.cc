// SPDX-License-Identifier: Apache-2.0
#include "helper/plan_text.h"

#include "lib/base/text.h"
#include "lib/slurm/hostlist.h"

#include <algorithm>

namespace distinit {

namespace {

/// A list of up to kShownWhole lines is shown whole, of a longer one the first kShownOfMany.
constexpr int kShownWhole = 64;
constexpr int kShownOfMany = 16;
constexpr int kGroupsShownWhole = 16;
constexpr int kGroupsShownOfMany = 8;
constexpr size_t kPiecesShown = 8;

int shown_of(int count) {
  return count <= kShownWhole ? count : kShownOfMany;
}

/// Characters on a terminal: bytes that do not continue a UTF-8 sequence.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

/// Columns as wide as their widest cell, two blanks apart; numbers to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> heading) { rows_.push_back(std::move(heading)); }

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  void print(std::string& out, bool colour) const {
    std::vector<size_t> widths(rows_[0].size(), 0);
    std::vector<bool> numeric(rows_[0].size(), rows_.size() > 1);
    for (const auto& row : rows_) {
      for (size_t i = 0; i < row.size(); ++i) {
        widths[i] = std::max(widths[i], width_of(row[i]));
        if (&row != &rows_[0] && row[i].find_first_not_of("0123456789") != std::string::npos) {
          numeric[i] = false;
        }
      }
    }
    for (const auto& row : rows_) {
      std::string line;
      for (size_t i = 0; i < row.size(); ++i) {
        const std::string blanks(widths[i] - width_of(row[i]), ' ');
        line += i == 0 ? "" : "  ";
        line += numeric[i] ? blanks + row[i] : row[i] + blanks;
      }
      line.erase(line.find_last_not_of(' ') + 1);
      const bool is_heading = &row == &rows_[0] && colour;
      out += concat(is_heading ? "\033[1m" : "", line, is_heading ? "\033[0m" : "", '\n');
    }
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

void add_rest(std::string& out, int left, std::string_view what) {
  if (left > 0) {
    out += concat("… ", format_count(left), " more ", what, left == 1 ? "" : "s",
                  "; --json has all\n");
  }
}

void add_mesh(std::string& out, const Plan& plan, bool colour) {
  std::string sizes;
  for (const Dimension& dimension : plan.mesh.dims) {
    sizes += concat(sizes.empty() ? "" : " x ", dimension.name, ' ', dimension.size);
  }
  out += concat(colour ? "\033[1m" : "", plan.spec, colour ? "\033[0m" : "", ": ",
                format_quantity(plan.mesh.world_size, "rank"), " on ",
                format_quantity(static_cast<long long>(plan.layout.nodes.size()), "node"), ", ",
                plan.distribution, " distribution\nmesh ", sizes, ", innermost first\n\n");
}

void add_nodes(std::string& out, const Plan& plan, bool colour) {
  const int count = static_cast<int>(plan.layout.nodes.size());
  Table table({"node", "name", "tasks", "ranks"});
  for (int i = 0; i < shown_of(count); ++i) {
    const NodeRanks& node = plan.layout.nodes[static_cast<size_t>(i)];
    table.add({concat(node.group_rank), node.name, concat(node.ranks.size()),
               format_ranks(node.ranks, kPiecesShown)});
  }
  table.print(out, colour);
  add_rest(out, count - shown_of(count), "node");
  out += '\n';
}

std::string nodes_of(const Plan& plan, const std::vector<int>& ranks) {
  std::vector<int> nodes;
  for (const int rank : ranks) {
    nodes.push_back(plan.places[static_cast<size_t>(rank)].node);
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  const bool is_cut = nodes.size() > kPiecesShown;
  if (is_cut) {
    nodes.resize(kPiecesShown);
  }
  std::vector<std::string> names;
  for (const int node : nodes) {
    names.push_back(plan.layout.nodes[static_cast<size_t>(node)].name);
  }
  return concat(compress_hostlist(names), is_cut ? ",…" : "");
}

void add_groups(std::string& out, const Plan& plan, bool colour) {
  for (const GroupType& type : plan.mesh.group_types) {
    const int count = group_count(type);
    const int shown = count <= kGroupsShownWhole ? count : kGroupsShownOfMany;
    Table table({concat(type.name, " group"), "ranks", "nodes"});
    for (int index = 0; index < shown; ++index) {
      const std::vector<int> ranks = group_ranks(type, index);
      table.add({concat(index), format_ranks(ranks, kPiecesShown), nodes_of(plan, ranks)});
    }
    table.print(out, colour);
    add_rest(out, count - shown, concat(type.name, " group"));
    out += '\n';
  }
}

void add_ranks(std::string& out, const Plan& plan, bool colour) {
  std::vector<std::string> heading = {"rank", "node", "local rank"};
  for (const Dimension& dimension : plan.mesh.dims) {
    heading.push_back(dimension.name);
  }
  Table table(std::move(heading));
  const int count = plan.mesh.world_size;
  for (int rank = 0; rank < shown_of(count); ++rank) {
    const RankPlace& place = plan.places[static_cast<size_t>(rank)];
    std::vector<std::string> row = {concat(rank),
                                    plan.layout.nodes[static_cast<size_t>(place.node)].name,
                                    concat(place.local_rank)};
    for (const int value : coordinates(plan.mesh, rank)) {
      row.push_back(concat(value));
    }
    table.add(std::move(row));
  }
  table.print(out, colour);
  add_rest(out, count - shown_of(count), "rank");
}

}  // namespace

std::string format_plan_text(const Plan& plan, bool colour) {
  std::string out;
  add_mesh(out, plan, colour);
  add_nodes(out, plan, colour);
  add_groups(out, plan, colour);
  add_ranks(out, plan, colour);
  return out;
}

}  // namespace distinit
