// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which unique ids each group needs, who makes them, and how they stand in the store.

#include "lib/base/result.h"
#include "lib/nccl/api.h"
#include "lib/spec/mesh.h"

#include <string>
#include <string_view>
#include <vector>

namespace distinit {

/// The name of the group of all ranks, which no dimension can have.
constexpr std::string_view kWorldGroup = "world";

/// This rank's groups in the order in which every rank brings them up: the world, then
/// mesh.group_types. That order cannot deadlock: the groups of one type are disjoint, so whoever
/// waits in one waits only for ranks that are still at an earlier type.
std::vector<Membership> groups_of_rank(const Mesh& mesh, int rank);

/// "tp group 1 (ranks 2,3)", the list cut where it is long; "the world's group (8 ranks)".
std::string describe_group(const Membership& group);

/// Roots that a group of `size` ranks has: one up to 256 ranks, then one per 256, where the library
/// has ncclCommInitRankScalable.
int root_count(int size, bool can_scale);

/// First position of root `root`'s slice in a group of `size` ranks with `roots` roots; root ==
/// roots gives size. With q = size / roots and m = size % roots the first m slices have q + 1
/// ranks, as NCCL has it (bootstrap.cc, rootIdFromRank).
int first_of_slice(int root, int size, int roots);

/// The root whose slice begins with this position, or -1: that rank makes the id.
int root_made_by(int position, int size, int roots);

/// What its maker publishes.
struct IdRecord {
  int version = 0;      ///< ncclGetVersion of the maker's library
  std::string library;  ///< that library's path
  std::string maker;    ///< "rank 0 on n1"
  NcclUniqueId id = {};
};

std::string encode_id_record(const IdRecord& record);
/// kCommunicator for anything that encode_id_record did not make.
Result<IdRecord> decode_id_record(std::string_view text);

}  // namespace distinit
