// SPDX-License-Identifier: Apache-2.0
#include "lib/rendezvous/node_report.h"

#include "lib/base/text.h"

#include <algorithm>
#include <utility>

namespace distinit {

namespace {

constexpr size_t kMostNames = 4;
constexpr size_t kMostFabrics = 4;

std::string list_nodes(const std::vector<std::string>& nodes) {
  if (nodes.size() <= kMostNames) {
    return join(nodes, ", ");
  }
  const std::vector<std::string> first(nodes.begin(), nodes.begin() + kMostNames - 1);
  return concat(join(first, ", "), " and ", nodes.size() - first.size(), " other nodes");
}

/// Values in the order in which they were first seen, each with its nodes.
template <typename T>
class NodesByValue {
 public:
  void add(const T& value, const std::string& node) {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const auto& entry) { return entry.first == value; });
    if (found == entries_.end()) {
      entries_.push_back({value, {node}});
    } else if (found->second.back() != node) {
      found->second.push_back(node);
    }
  }
  const std::vector<std::pair<T, std::vector<std::string>>>& entries() const { return entries_; }

 private:
  std::vector<std::pair<T, std::vector<std::string>>> entries_;
};

Finding describe_difference(const NodesByValue<std::string>& fabrics) {
  std::vector<std::string> kinds;
  for (const auto& [fabric, nodes] : fabrics.entries()) {
    if (kinds.size() == kMostFabrics) {
      kinds.push_back(concat(fabrics.entries().size() - kMostFabrics, " more kinds of node"));
      break;
    }
    kinds.push_back(concat(fabric.empty() ? "none" : fabric, " on ", list_nodes(nodes)));
  }
  return Finding{
      concat("usable HCAs differ between nodes: ", join(kinds, "; ")),
      "NCCL may hang on that: see `distinit topo` on a node that has fewer, or leave out "
      "with hca.skip=NAME what not all have"};
}

}  // namespace

std::vector<Finding> merge_reports(const std::map<int, NodeReport>& by_group_rank) {
  NodesByValue<Finding> findings;
  NodesByValue<std::string> fabrics;
  for (const auto& [group_rank, report] : by_group_rank) {
    for (const Finding& finding : report.findings) {
      findings.add(finding, report.node);
    }
    if (report.knows_fabric) {
      fabrics.add(report.fabric, report.node);
    }
  }
  std::vector<Finding> out;
  for (const auto& [finding, nodes] : findings.entries()) {
    out.push_back(Finding{concat(list_nodes(nodes), ": ", finding.what), finding.hint});
  }
  if (fabrics.entries().size() > 1) {
    out.push_back(describe_difference(fabrics));
  }
  return out;
}

}  // namespace distinit
