// SPDX-License-Identifier: Apache-2.0
#pragma once
// A SPEC matched with a world size: coordinates, and the groups of every dimension, of several
// dimensions together, and of the expert grid. Order and numbering are those of Megatron-Core's
// rank generator (NVIDIA/Megatron-LM megatron/core/parallel_state.py).

#include "lib/spec/spec.h"

#include <string>
#include <vector>

namespace distinit {

/// One kind of group, such as "tp", "dp-cp" or "edp": which dimensions of which grid vary inside
/// it. `dims` are the whole grid (innermost first, sizes filled), `inside[i]` says whether
/// dimension i varies inside a group.
struct GroupType {
  std::string name;
  std::vector<Dimension> dims;
  std::vector<bool> inside;

  bool operator==(const GroupType&) const = default;
};

/// The mesh. All sizes are at least 1 and their product is world_size.
struct Mesh {
  int world_size = 0;
  std::vector<Dimension> dims;
  /// One type per dimension in SPEC order, then `groups=` in its order, then the expert grid's.
  std::vector<GroupType> group_types;

  bool operator==(const Mesh&) const = default;
};

/// One group as seen by one of its members.
struct Membership {
  std::string name;        ///< the type's
  int index = 0;           ///< which group of the type, 0-based, Megatron's order
  int position = 0;        ///< this rank's place in `ranks`
  std::vector<int> ranks;  ///< all members, ascending

  bool operator==(const Membership&) const = default;
};

/// Fills in the sizes. kLayout errors say which sizes do not give the world size, with their
/// product.
Result<Mesh> resolve_mesh(const Spec& spec, int world_size);

/// One coordinate per dimension of the mesh, in its order. rank must be in [0, world_size).
std::vector<int> coordinates(const Mesh& mesh, int rank);

int group_count(const GroupType& type);
int group_size(const GroupType& type);
/// Members of group `index` in ascending order.
std::vector<int> group_ranks(const GroupType& type, int index);
Membership membership(const GroupType& type, int rank);

}  // namespace distinit
