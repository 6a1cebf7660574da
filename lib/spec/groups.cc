// SPDX-License-Identifier: Apache-2.0
#include "lib/spec/mesh.h"

namespace distinit {

// A rank is the sum of coordinate x stride with the first dimension fastest. So both the numbering
// of the groups (the outside coordinates counting up) and the order inside one (the inside
// coordinates counting up) run through ascending ranks.

namespace {

/// The rank whose coordinates in the dimensions with inside == `inside` count to `index`, the
/// others being 0.
int rank_of(const GroupType& type, bool inside, int index) {
  int rank = 0;
  int stride = 1;
  for (size_t i = 0; i < type.dims.size(); ++i) {
    const int size = type.dims[i].size;
    if (type.inside[i] == inside) {
      rank += index % size * stride;
      index /= size;
    }
    stride *= size;
  }
  return rank;
}

/// The other way round.
int index_of(const GroupType& type, bool inside, int rank) {
  int index = 0;
  int scale = 1;
  for (size_t i = 0; i < type.dims.size(); ++i) {
    const int size = type.dims[i].size;
    if (type.inside[i] == inside) {
      index += rank % size * scale;
      scale *= size;
    }
    rank /= size;
  }
  return index;
}

int product(const GroupType& type, bool inside) {
  int out = 1;
  for (size_t i = 0; i < type.dims.size(); ++i) {
    out *= type.inside[i] == inside ? type.dims[i].size : 1;
  }
  return out;
}

}  // namespace

int group_count(const GroupType& type) {
  return product(type, false);
}

int group_size(const GroupType& type) {
  return product(type, true);
}

std::vector<int> group_ranks(const GroupType& type, int index) {
  const int base = rank_of(type, false, index);
  const int size = group_size(type);
  std::vector<int> ranks;
  ranks.reserve(static_cast<size_t>(size));
  for (int i = 0; i < size; ++i) {
    ranks.push_back(base + rank_of(type, true, i));
  }
  return ranks;
}

Membership membership(const GroupType& type, int rank) {
  const int index = index_of(type, false, rank);
  return {type.name, index, index_of(type, true, rank), group_ranks(type, index)};
}

}  // namespace distinit
