// SPDX-License-Identifier: Apache-2.0
#include "lib/base/text.h"
#include "lib/spec/layout.h"
#include "lib/spec/packing.h"
#include "lib/spec/placement.h"

#include <algorithm>
#include <optional>

namespace distinit {

namespace {

/// The types whose traffic is too heavy for the network between nodes, heaviest first.
constexpr std::string_view kLocalTypes[] = {"tp", "etp", "ep"};
constexpr int kLargestPlaneTried = 128;
constexpr size_t kNamesShown = 16;

std::vector<int> ranks_per_node(const Layout& layout) {
  std::vector<int> counts;
  for (const NodeRanks& node : layout.nodes) {
    counts.push_back(static_cast<int>(node.ranks.size()));
  }
  return counts;
}

NodeOfRank invert(const std::vector<std::vector<int>>& ranks_of_node, int world_size) {
  NodeOfRank node_of_rank(static_cast<size_t>(world_size), 0);
  for (size_t node = 0; node < ranks_of_node.size(); ++node) {
    for (const int rank : ranks_of_node[node]) {
      node_of_rank[static_cast<size_t>(rank)] = static_cast<int>(node);
    }
  }
  return node_of_rank;
}

/// The local types of the mesh that these nodes can hold, all of them at the same time.
std::vector<GroupType> types_to_keep(const Mesh& mesh, const std::vector<int>& counts) {
  std::vector<GroupType> kept;
  const int largest = *std::max_element(counts.begin(), counts.end());
  for (const std::string_view name : kLocalTypes) {
    for (const GroupType& type : mesh.group_types) {
      if (type.name != name || group_size(type) < 2 || group_size(type) > largest) {
        continue;
      }
      kept.push_back(type);
      if (!pack_groups(kept, counts)) {
        kept.pop_back();
      }
    }
  }
  return kept;
}

/// The simplest distribution that keeps the types together, as srun takes it.
std::optional<std::string> find_distribution(const std::vector<GroupType>& types,
                                             const std::vector<int>& counts, int world_size) {
  const auto works = [&](Distribution distribution, int plane_size) {
    return keeps_together(types, invert(place_ranks(counts, distribution, plane_size), world_size));
  };
  if (works(Distribution::kBlock, 0)) {
    return "block";
  }
  if (works(Distribution::kCyclic, 0)) {
    return "cyclic";
  }
  const int largest = *std::max_element(counts.begin(), counts.end());
  for (int plane = 2; plane < std::min(largest, kLargestPlaneTried); ++plane) {
    if (works(Distribution::kPlane, plane)) {
      return concat("plane=", plane);
    }
  }
  return std::nullopt;
}

std::string host_file(const NodeOfRank& node_of_rank, const Layout& layout) {
  std::vector<std::string> lines;
  for (const int node : node_of_rank) {
    if (lines.size() == kNamesShown) {
      lines.back() += " …";
      break;
    }
    lines.push_back(layout.nodes[static_cast<size_t>(node)].name);
  }
  return join(lines, " ");
}

std::string cure(const std::vector<GroupType>& types, const Layout& layout, int world_size) {
  std::vector<std::string> names;
  for (const GroupType& type : types) {
    names.push_back(type.name);
  }
  const std::string kept = concat("keeps each ", join(names, " and "), " group on one node");
  const std::vector<int> counts = ranks_per_node(layout);
  if (const auto distribution = find_distribution(types, counts, world_size)) {
    return concat("--distribution=", *distribution, ' ', kept);
  }
  const auto packed = pack_groups(types, counts);
  return concat("-m arbitrary with a SLURM_HOSTFILE of one line a rank, ",
                host_file(*packed, layout), ", ", kept);
}

std::string describe(const GroupType& type, const LeavingGroups& leaving, const Layout& layout,
                     const NodeOfRank& node_of_rank) {
  std::vector<std::string> ranks;
  std::vector<std::string> nodes;
  for (const int rank : group_ranks(type, leaving.first)) {
    ranks.push_back(concat(rank));
    const std::string& name =
        layout.nodes[static_cast<size_t>(node_of_rank[static_cast<size_t>(rank)])].name;
    if (std::find(nodes.begin(), nodes.end(), name) == nodes.end()) {
      nodes.push_back(name);
    }
  }
  for (std::vector<std::string>* list : {&ranks, &nodes}) {
    if (list->size() > kNamesShown) {
      list->resize(kNamesShown);
      list->back() = "…";
    }
  }
  const int others = leaving.count - 1;
  std::string text = concat(type.name, " group ", leaving.first, " (ranks ", join(ranks, " "),
                            ") is spread over nodes ", join(nodes, ", "));
  if (others > 0) {
    text += concat(", like ", others, others == 1 ? " other" : " others");
  }
  return text;
}

}  // namespace

std::vector<Finding> check_locality(const Mesh& mesh, const Layout& layout) {
  std::vector<Finding> findings;
  if (layout.nodes.size() < 2) {
    return findings;
  }
  std::vector<std::vector<int>> ranks_of_node;
  for (const NodeRanks& node : layout.nodes) {
    ranks_of_node.push_back(node.ranks);
  }
  const NodeOfRank node_of_rank = invert(ranks_of_node, mesh.world_size);
  const std::vector<GroupType> types = types_to_keep(mesh, ranks_per_node(layout));
  std::string hint;
  for (const GroupType& type : types) {
    const LeavingGroups leaving = find_leaving_groups(type, node_of_rank);
    if (leaving.count == 0) {
      continue;
    }
    if (hint.empty()) {
      hint = cure(types, layout, mesh.world_size);
    }
    findings.push_back({describe(type, leaving, layout, node_of_rank), hint});
  }
  return findings;
}

}  // namespace distinit
