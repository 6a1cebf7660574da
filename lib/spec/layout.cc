// SPDX-License-Identifier: Apache-2.0
#include "lib/spec/layout.h"

#include "lib/base/text.h"

namespace distinit {

namespace {

Error bad_layout(std::string what) {
  return Error{ErrorCode::kLayout, std::move(what),
               "compare the step's node list, tasks per node and distribution", 0};
}

}  // namespace

Status check_layout(const Layout& layout, int world_size) {
  std::vector<const NodeRanks*> holder(static_cast<size_t>(world_size), nullptr);
  for (const NodeRanks& node : layout.nodes) {
    for (const int rank : node.ranks) {
      if (rank < 0 || rank >= world_size) {
        return bad_layout(
            concat("rank ", rank, " on ", node.name, " in a step of ", world_size, " ranks"));
      }
      const NodeRanks*& holds = holder[static_cast<size_t>(rank)];
      if (holds != nullptr) {
        return bad_layout(holds == &node ? concat("rank ", rank, " is on ", node.name, " twice")
                                         : concat("rank ", rank, " is on both ", holds->name,
                                                  " and ", node.name));
      }
      holds = &node;
    }
  }
  for (int rank = 0; rank < world_size; ++rank) {
    if (holder[static_cast<size_t>(rank)] == nullptr) {
      return bad_layout(concat("rank ", rank, " of ", world_size, " is on no node"));
    }
  }
  return Ok{};
}

}  // namespace distinit
