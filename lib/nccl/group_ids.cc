// SPDX-License-Identifier: Apache-2.0
#include "lib/nccl/group_ids.h"

#include "lib/base/text.h"
#include "lib/base/wire.h"

#include <algorithm>

#include <string.h>

namespace distinit {

namespace {

constexpr int kRanksPerRoot = 256;
constexpr size_t kMostRanks = 16;

}  // namespace

std::vector<Membership> groups_of_rank(const Mesh& mesh, int rank) {
  Membership world;
  world.name = kWorldGroup;
  world.position = rank;
  for (int each = 0; each < mesh.world_size; ++each) {
    world.ranks.push_back(each);
  }
  std::vector<Membership> groups;
  groups.push_back(std::move(world));
  for (const GroupType& type : mesh.group_types) {
    groups.push_back(membership(type, rank));
  }
  return groups;
}

std::string describe_group(const Membership& group) {
  if (group.name == kWorldGroup) {
    return concat("the world's group (", group.ranks.size(), " ranks)");
  }
  std::vector<std::string> ranks;
  for (size_t i = 0; i < group.ranks.size() && i < kMostRanks; ++i) {
    ranks.push_back(concat(group.ranks[i]));
  }
  return concat(group.name, " group ", group.index,
                group.ranks.size() == 1 ? " (rank " : " (ranks ", join(ranks, ","),
                group.ranks.size() > kMostRanks ? ",…)" : ")");
}

int root_count(int size, bool can_scale) {
  return can_scale ? (size + kRanksPerRoot - 1) / kRanksPerRoot : 1;
}

int first_of_slice(int root, int size, int roots) {
  return root * (size / roots) + std::min(root, size % roots);
}

int root_made_by(int position, int size, int roots) {
  for (int root = 0; root < roots; ++root) {
    if (first_of_slice(root, size, roots) == position) {
      return root;
    }
  }
  return -1;
}

std::string encode_id_record(const IdRecord& record) {
  WireWriter writer;
  writer.put_u32(static_cast<uint32_t>(record.version));
  writer.put_text(record.library);
  writer.put_text(record.maker);
  writer.put_text(std::string_view(record.id.bytes, sizeof record.id.bytes));
  return writer.take();
}

Result<IdRecord> decode_id_record(std::string_view text) {
  WireReader reader(text);
  IdRecord record;
  record.version = static_cast<int>(reader.get_u32());
  record.library = reader.get_text();
  record.maker = reader.get_text();
  const std::string id = reader.get_text();
  if (!reader.at_end() || id.size() != sizeof record.id.bytes) {
    return Error{ErrorCode::kCommunicator, "what the store holds in place of a unique id is none",
                 "does the program write keys that begin with 'distinit/'?", 0};
  }
  memcpy(record.id.bytes, id.data(), id.size());
  return record;
}

}  // namespace distinit
