// SPDX-License-Identifier: Apache-2.0
#include "lib/rendezvous/roster.h"

#include "lib/base/text.h"
#include "lib/slurm/hostlist.h"

#include <algorithm>
#include <utility>

namespace distinit {

namespace {

constexpr size_t kLongestList = 200;

Error contradiction(const Join& one, const Join& other, std::string_view what) {
  return Error{ErrorCode::kRendezvous, concat(one.node, " and ", other.node, " ", what),
               "all nodes of a step must be launched by one srun, with one release of distinit", 0};
}

}  // namespace

std::string format_ranks(const std::vector<int>& ranks) {
  std::string out;
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) {
      ++end;
    }
    out += concat(out.empty() ? "" : ",", ranks[i]);
    if (end - i > 1) {
      out += concat('-', ranks[end - 1]);
    }
    i = end;
  }
  return out;
}

Roster::Roster(int node_count, int world_size, std::vector<std::string> nodes)
    : node_count_(node_count), world_size_(world_size), nodes_(std::move(nodes)) {}

Status Roster::join(const Join& join) {
  if (join.group_rank < 0 || join.group_rank >= node_count_) {
    return Error{ErrorCode::kRendezvous,
                 concat(join.node, " says it is node ", join.group_rank, " of a step with ",
                        node_count_, " nodes"),
                 "all nodes of a step must be launched by one srun", 0};
  }
  if (const Join* other = find(join.group_rank)) {
    return contradiction(join, *other, concat("both say they are node ", join.group_rank));
  }
  if (!joined_.empty()) {
    const Join& first = joined_.begin()->second;
    if (join.version != first.version) {
      return contradiction(join, first,
                           concat("have different releases of distinit: ", abbreviate(join.version),
                                  " and ", first.version));
    }
    if (join.spec != first.spec) {
      return contradiction(
          join, first,
          concat("have different SPECs: ", abbreviate(join.spec), " and ", abbreviate(first.spec)));
    }
  }
  for (const int rank : join.ranks) {
    if (rank < 0 || rank >= world_size_) {
      return Error{ErrorCode::kLayout,
                   concat(join.node, " holds rank ", rank, " of a world of ", world_size_),
                   {},
                   0};
    }
    if (const auto held = rank_nodes_.find(rank); held != rank_nodes_.end()) {
      return contradiction(join, joined_.at(held->second), concat("both hold rank ", rank));
    }
  }
  for (const int rank : join.ranks) {
    rank_nodes_.emplace(rank, join.group_rank);
  }
  joined_.emplace(join.group_rank, join);
  return Ok{};
}

void Roster::present(int group_rank, const std::vector<int>& ranks) {
  for (const int rank : ranks) {
    if (const auto held = rank_nodes_.find(rank);
        held != rank_nodes_.end() && held->second == group_rank) {
      present_.insert(rank);
    }
  }
}

bool Roster::is_complete() const {
  return has_all_nodes() && static_cast<int>(present_.size()) == world_size_;
}

const Join* Roster::find(int group_rank) const {
  const auto found = joined_.find(group_rank);
  return found == joined_.end() ? nullptr : &found->second;
}

std::string Roster::missing() const {
  std::vector<std::string> parts;
  if (const int absent = node_count_ - static_cast<int>(joined_.size()); absent > 0) {
    std::vector<std::string> names;
    for (const std::string& node : nodes_) {
      const bool here = std::any_of(joined_.begin(), joined_.end(),
                                    [&](const auto& entry) { return entry.second.node == node; });
      if (!here) {
        names.push_back(node);
      }
    }
    parts.push_back(concat(absent, " of ", node_count_, node_count_ == 1 ? " node" : " nodes"));
    if (!names.empty()) {
      parts.back() += concat(" (", abbreviate(compress_hostlist(names), kLongestList), ")");
    }
  }
  for (const auto& [group_rank, join] : joined_) {
    std::vector<int> ranks;
    std::copy_if(join.ranks.begin(), join.ranks.end(), std::back_inserter(ranks),
                 [&](int rank) { return !present_.contains(rank); });
    if (!ranks.empty() && parts.size() < 8) {
      parts.push_back(concat(ranks.size() == 1 ? "rank " : "ranks ",
                             abbreviate(format_ranks(ranks), kLongestList), " on ", join.node));
    }
  }
  return distinit::join(parts, ", ");
}

Layout Roster::layout() const {
  Layout layout;
  for (const auto& [group_rank, join] : joined_) {
    layout.nodes.push_back(NodeRanks{join.node, group_rank, join.ranks});
  }
  return layout;
}

}  // namespace distinit
