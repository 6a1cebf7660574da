// SPDX-License-Identifier: Apache-2.0
#include "helper/plan.h"

#include "lib/base/nearest.h"
#include "lib/base/text.h"
#include "lib/slurm/counts.h"
#include "lib/slurm/hostlist.h"
#include "lib/spec/placement.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

namespace distinit {

namespace {

struct NodeList {
  std::vector<std::string> names;
  std::vector<int> counts;
};

Error layout_error(std::string what, std::string hint) {
  return Error{ErrorCode::kLayout, std::move(what), std::move(hint), 0};
}

/// What is wrong with the text of an argument is a usage error, wherever it was found.
template <typename T>
Result<T> argument(std::string_view name, Result<T> parsed) {
  if (parsed) {
    return parsed;
  }
  Error error = with_context(parsed.error(), name);
  error.code = ErrorCode::kUsage;
  return error;
}

/// Names by prefix, then by the number at their end, as the controller orders a step's nodes.
bool comes_before(const std::string& a, const std::string& b) {
  const auto number_start = [](const std::string& name) {
    const size_t last = name.find_last_not_of("0123456789");
    return last == std::string::npos ? 0 : last + 1;
  };
  const size_t number_a = number_start(a);
  const size_t number_b = number_start(b);
  if (const int order = a.compare(0, number_a, b, 0, number_b); order != 0) {
    return order < 0;
  }
  const auto digits = [](const std::string& name, size_t start) {
    const size_t first = name.find_first_not_of('0', start);
    return first == std::string::npos ? std::string_view() : std::string_view(name).substr(first);
  };
  const std::string_view digits_a = digits(a, number_a);
  const std::string_view digits_b = digits(b, number_b);
  if (digits_a.size() != digits_b.size()) {
    return digits_a.size() < digits_b.size();
  }
  return digits_a != digits_b ? digits_a < digits_b : a.size() < b.size();
}

Result<std::vector<std::string>> read_nodes(const PlanRequest& request) {
  DISTINIT_ASSIGN_OR_RETURN(auto names, argument("--nodes", expand_hostlist(request.nodes)));
  if (names.empty()) {
    return Error{ErrorCode::kUsage, "--nodes names no node", "for example --nodes 'n[1-4]'", 0};
  }
  return names;
}

Result<std::vector<int>> read_counts(const PlanRequest& request, size_t node_count) {
  DISTINIT_ASSIGN_OR_RETURN(auto counts,
                            argument("--tasks-per-node", expand_counts(request.tasks_per_node)));
  if (counts.size() == 1 && request.tasks_per_node.find('(') == std::string::npos) {
    counts.resize(node_count, counts[0]);
  }
  if (counts.size() != node_count) {
    return layout_error(
        concat("--tasks-per-node has ",
               format_quantity(static_cast<long long>(counts.size()), "count"), ", --nodes has ",
               format_quantity(static_cast<long long>(node_count), "node")),
        concat("one count a node, such as '4(x", node_count,
               ")'; a single number counts for "
               "every node"));
  }
  if (const auto sum = std::accumulate(counts.begin(), counts.end(), 0LL); sum > kMostTasks) {
    return layout_error(
        concat(format_count(sum), " tasks, at most ", format_count(kMostTasks), " can be planned"),
        "take fewer nodes or fewer tasks on each");
  }
  return counts;
}

Status check_distinct(const std::vector<std::string>& names) {
  std::unordered_map<std::string_view, size_t> seen;
  for (const std::string& name : names) {
    if (!seen.emplace(name, 0).second) {
      return layout_error(concat("--nodes names '", abbreviate(name), "' twice"),
                          "only --distribution arbitrary takes one name a rank");
    }
  }
  return Ok{};
}

/// One name a rank, as a SLURM_HOSTFILE: the step's nodes are the distinct names in order.
Result<Layout> place_by_host_file(const PlanRequest& request) {
  DISTINIT_ASSIGN_OR_RETURN(const auto names, read_nodes(request));
  std::map<std::string, std::vector<int>, decltype(&comes_before)> ranks_of_node(comes_before);
  for (size_t rank = 0; rank < names.size(); ++rank) {
    ranks_of_node[names[rank]].push_back(static_cast<int>(rank));
  }
  Layout layout;
  std::vector<std::string> counts;
  for (auto& [name, ranks] : ranks_of_node) {
    counts.push_back(concat(ranks.size()));
    layout.nodes.push_back({name, static_cast<int>(layout.nodes.size()), std::move(ranks)});
  }
  if (request.tasks_per_node.empty()) {
    return layout;
  }
  DISTINIT_ASSIGN_OR_RETURN(const auto given, read_counts(request, layout.nodes.size()));
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] != static_cast<int>(layout.nodes[i].ranks.size())) {
      return layout_error(concat("--tasks-per-node gives ", layout.nodes[i].name, ' ', given[i],
                                 " tasks, --nodes names it for ", counts[i], " ranks"),
                          "leave out --tasks-per-node: with arbitrary the list of nodes says it");
    }
  }
  return layout;
}

struct Rule {
  Distribution distribution = Distribution::kBlock;
  int plane_size = 0;
};

Result<Rule> parse_rule(std::string_view name) {
  if (name == "block") {
    return Rule{};
  }
  if (name == "cyclic") {
    return Rule{Distribution::kCyclic, 0};
  }
  if (name.starts_with("plane=")) {
    if (const auto size = parse_number(name.substr(6), 1, kMostTasks)) {
      return Rule{Distribution::kPlane, static_cast<int>(*size)};
    }
  }
  Error error{ErrorCode::kUsage, concat("unknown --distribution '", abbreviate(name), "'"),
              "it is block, cyclic, plane=SIZE or arbitrary", 0};
  if (name.starts_with("plane")) {
    error.what = concat("--distribution '", abbreviate(name), "' has no valid size");
    error.hint = "for example plane=4";
  } else if (const auto near = nearest(name, {"block", "cyclic", "plane=4", "arbitrary"});
             !near.empty()) {
    error.hint = concat("did you mean '", near, "'?");
  }
  return error;
}

Result<Layout> place_by_rule(const PlanRequest& request, std::string_view distribution) {
  DISTINIT_ASSIGN_OR_RETURN(const Rule rule, parse_rule(distribution));
  DISTINIT_ASSIGN_OR_RETURN(auto names, read_nodes(request));
  DISTINIT_RETURN_IF_ERROR(check_distinct(names));
  if (request.tasks_per_node.empty()) {
    return Error{ErrorCode::kUsage, "--tasks-per-node is missing",
                 "for example --tasks-per-node 4, or '4(x2),3' for nodes that differ", 0};
  }
  DISTINIT_ASSIGN_OR_RETURN(const auto counts, read_counts(request, names.size()));
  Layout layout;
  auto placed = place_ranks(counts, rule.distribution, rule.plane_size);
  for (size_t i = 0; i < names.size(); ++i) {
    layout.nodes.push_back({std::move(names[i]), static_cast<int>(i), std::move(placed[i])});
  }
  return layout;
}

std::vector<RankPlace> places_of(const Layout& layout, int world_size) {
  std::vector<RankPlace> places(static_cast<size_t>(world_size));
  for (size_t node = 0; node < layout.nodes.size(); ++node) {
    const std::vector<int>& ranks = layout.nodes[node].ranks;
    for (size_t local = 0; local < ranks.size(); ++local) {
      places[static_cast<size_t>(ranks[local])] = {static_cast<int>(node), static_cast<int>(local)};
    }
  }
  return places;
}

}  // namespace

Result<Plan> make_plan(const PlanRequest& request) {
  Plan plan;
  plan.spec = request.spec;
  DISTINIT_ASSIGN_OR_RETURN(const Spec spec, parse_spec(request.spec));
  // Slurm's second level ("block:cyclic") and ",Pack" do not change which node a rank is on once
  // the counts are given.
  plan.distribution = request.distribution.substr(0, request.distribution.find_first_of(":,"));
  DISTINIT_ASSIGN_OR_RETURN(plan.layout, plan.distribution == "arbitrary"
                                             ? place_by_host_file(request)
                                             : place_by_rule(request, plan.distribution));
  int world_size = 0;
  for (const NodeRanks& node : plan.layout.nodes) {
    world_size += static_cast<int>(node.ranks.size());
  }
  DISTINIT_ASSIGN_OR_RETURN(plan.mesh, resolve_mesh(spec, world_size));
  plan.places = places_of(plan.layout, world_size);
  plan.findings = check_locality(plan.mesh, plan.layout);
  return plan;
}

}  // namespace distinit
