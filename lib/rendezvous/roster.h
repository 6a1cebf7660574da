// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who has come to the rendezvous and who is missing. No sockets, no time.

#include "lib/base/result.h"
#include "lib/rendezvous/messages.h"
#include "lib/spec/layout.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace distinit {

class Roster {
 public:
  /// `nodes`: names of the step's nodes, in any order, for saying which are missing.
  Roster(int node_count, int world_size, std::vector<std::string> nodes);

  /// Takes a node in. kRendezvous or kLayout errors name both nodes where they contradict: a group
  /// rank or a rank held twice, another SPEC, another release of distinit, a rank outside the
  /// world.
  Status join(const Join& join);
  /// These ranks of that node are ready to start; ranks that are not the node's are ignored.
  void present(int group_rank, const std::vector<int>& ranks);

  bool has_all_nodes() const { return static_cast<int>(joined_.size()) == node_count_; }
  /// All nodes have joined and all ranks are ready.
  bool is_complete() const;
  /// "1 of 3 nodes (n3) and ranks 4-5 on n2"; empty when complete.
  std::string missing() const;

  const Join* find(int group_rank) const;
  /// By group rank.
  const std::map<int, Join>& joined() const { return joined_; }
  Layout layout() const;

 private:
  int node_count_;
  int world_size_;
  std::vector<std::string> nodes_;
  std::map<int, Join> joined_;
  std::map<int, int> rank_nodes_;  // rank to group rank
  std::set<int> present_;
};

/// "0-3,7" for ascending numbers.
std::string format_ranks(const std::vector<int>& ranks);

}  // namespace distinit
