// SPDX-License-Identifier: Apache-2.0
#include "lib/nccl/id_exchange.h"

#include "lib/base/text.h"

namespace distinit {

namespace {

std::string id_name(const Membership& group, int root) {
  return concat(group.name, '/', group.index, "/id/", root);
}

class IdExchange {
 public:
  IdExchange(Meeting& meeting, const NcclLibrary& library, const RankIdentity& identity,
             Deadline deadline)
      : meeting_(meeting), library_(library), identity_(identity), deadline_(deadline) {}

  int roots_of(const Membership& group) const {
    return root_count(static_cast<int>(group.ranks.size()), library_.can_scale());
  }

  Status publish(const Membership& group) {
    const int own =
        root_made_by(group.position, static_cast<int>(group.ranks.size()), roots_of(group));
    if (own < 0) {
      return Ok{};
    }
    IdRecord record{library_.version, library_.path, identity_.who(), {}};
    if (const int code = library_.api.get_unique_id(&record.id); code != kNcclSuccess) {
      return Error{ErrorCode::kCommunicator,
                   concat(describe_group(group), ": ", identity_.who(), ": ",
                          nccl_call_failed(library_.api, "ncclGetUniqueId", code, nullptr)),
                   "does NCCL_SOCKET_IFNAME name an interface of this node? NCCL_DEBUG=INFO says "
                   "more",
                   0};
    }
    const auto done = meeting_.publish(id_name(group, own), encode_id_record(record), deadline_);
    if (!done) {
      return with_context(done.error(), identity_.who());
    }
    return Ok{};
  }

  Result<NcclUniqueId> take(const Membership& group, std::string_view text) const {
    const auto record = decode_id_record(text);
    if (!record) {
      return with_context(record.error(), describe_group(group));
    }
    if (record->version != library_.version) {
      return Error{
          ErrorCode::kCommunicator,
          concat(describe_group(group), ": ", identity_.who(), " has NCCL ",
                 format_nccl_version(library_.version), " (", library_.path, "), ", record->maker,
                 " has NCCL ", format_nccl_version(record->version), " (", record->library, ")"),
          "all ranks need the same: DISTINIT_NCCL_LIBRARY=PATH or LD_LIBRARY_PATH names it", 0};
    }
    return record->id;
  }

  /// names[i] is an id of groups[i].
  Result<std::vector<NcclUniqueId>> fetch(const std::vector<Membership>& groups,
                                          std::vector<std::string> names) {
    std::vector<NcclUniqueId> ids;
    if (names.empty()) {
      return ids;
    }
    const auto records = meeting_.fetch(std::move(names), deadline_);
    if (!records) {
      return with_context(records.error(), identity_.who());
    }
    for (size_t i = 0; i < records->size(); ++i) {
      DISTINIT_ASSIGN_OR_RETURN(const NcclUniqueId id, take(groups[i], (*records)[i]));
      ids.push_back(id);
    }
    return ids;
  }

 private:
  Meeting& meeting_;
  const NcclLibrary& library_;
  const RankIdentity& identity_;
  Deadline deadline_;
};

}  // namespace

Result<std::vector<std::vector<NcclUniqueId>>> exchange_ids(Meeting& meeting,
                                                            const NcclLibrary& library,
                                                            const RankIdentity& identity,
                                                            const std::vector<Membership>& groups,
                                                            Deadline deadline) {
  IdExchange exchange(meeting, library, identity, deadline);
  for (const Membership& group : groups) {
    DISTINIT_RETURN_IF_ERROR(exchange.publish(group));
  }
  // How many ids there are depends on the library. The world's first is there with any, and tells
  // whether the others' is ours, before one waits for ids that nobody makes.
  std::vector<Membership> owners;
  std::vector<std::string> names;
  for (const Membership& group : groups) {
    for (int root = 0; root < exchange.roots_of(group); ++root) {
      owners.push_back(group);
      names.push_back(id_name(group, root));
    }
  }
  DISTINIT_ASSIGN_OR_RETURN(std::vector<NcclUniqueId> all,
                            exchange.fetch({owners.front()}, {names.front()}));
  owners.erase(owners.begin());
  names.erase(names.begin());
  DISTINIT_ASSIGN_OR_RETURN(const std::vector<NcclUniqueId> others,
                            exchange.fetch(owners, std::move(names)));
  all.insert(all.end(), others.begin(), others.end());
  std::vector<std::vector<NcclUniqueId>> ids;
  auto next = all.begin();
  for (const Membership& group : groups) {
    const auto end = next + exchange.roots_of(group);
    ids.emplace_back(next, end);
    next = end;
  }
  return ids;
}

}  // namespace distinit
