// SPDX-License-Identifier: Apache-2.0
#include "lib/nccl/communicators.h"

#include "lib/base/text.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <errno.h>

namespace distinit {

namespace {

constexpr std::chrono::microseconds kFirstPause{50};
constexpr std::chrono::microseconds kLongestPause{2000};
constexpr milliseconds kBetweenLooks{250};
/// What the others may take to tell why they failed, when our library only says that a peer is
/// gone.
constexpr milliseconds kOthersReason{1000};
constexpr size_t kMostRanks = 16;

NcclConfig nonblocking() {
  NcclConfig config;
  config.blocking = 0;
  return config;
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

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

Communicators::~Communicators() {
  abort();
}

const GroupComm* Communicators::find(std::string_view type) const {
  const auto found = std::find_if(groups_.begin(), groups_.end(),
                                  [&](const GroupComm& each) { return each.group.name == type; });
  return found == groups_.end() ? nullptr : &*found;
}

std::optional<BringUpFailure> Communicators::bring_up(Deadline deadline) {
  auto meeting = Meeting::open(setup_.identity, setup_.purpose, deadline);
  if (!meeting) {
    return BringUpFailure{with_context(meeting.error(), setup_.identity.who()), false, false};
  }
  meeting_.emplace(std::move(*meeting));
  const auto unable = meeting_->agree(unable_, deadline);
  if (!unable) {
    return failed(with_context(unable.error(), setup_.identity.who()));
  }
  if (*unable > 0) {
    const bool nobody = *unable == setup_.identity.mesh.world_size;
    if (!unable_.empty()) {
      return BringUpFailure{Error{ErrorCode::kCommunicator, unable_, {}, 0}, false, nobody};
    }
    return BringUpFailure{Error{ErrorCode::kCommunicator, meeting_->why_unable(), {}, 0}, true,
                          false};
  }
  by_split_ = setup_.split && setup_.library.can_split();
  for (Membership& group : groups_of_rank(setup_.identity.mesh, setup_.identity.rank)) {
    groups_.push_back(GroupComm{std::move(group), nullptr, 0});
  }
  auto failure = exchange_ids(deadline);
  for (GroupComm& group : groups_) {
    if (failure) {
      break;
    }
    const auto begin = Clock::now();
    failure = by_split_ && &group != &groups_.front() ? split_group(group, deadline)
                                                      : start_group(group, deadline);
    group.seconds = seconds_since(begin);
  }
  if (failure) {
    abort();
  }
  return failure;
}

int Communicators::roots_of(const Membership& group) const {
  return root_count(static_cast<int>(group.ranks.size()), setup_.library.can_scale());
}

// All ids are made and published before the first is used, so that a rank waits for the slowest
// maker once, with two operations.
std::optional<BringUpFailure> Communicators::exchange_ids(Deadline deadline) {
  const size_t count = by_split_ ? 1 : groups_.size();
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    const Membership& group = groups_[i].group;
    const int roots = roots_of(group);
    const std::string base = concat(group.name, '/', group.index, "/id/");
    const int own = root_made_by(group.position, static_cast<int>(group.ranks.size()), roots);
    if (own >= 0) {
      IdRecord record{setup_.library.version, setup_.library.path, setup_.identity.who(), {}};
      if (const int code = setup_.library.api.get_unique_id(&record.id); code != kNcclSuccess) {
        return nccl_failed(groups_[i], "ncclGetUniqueId", code, nullptr);
      }
      const auto done = meeting_->publish(concat(base, own), encode_id_record(record), deadline);
      if (!done) {
        return failed(with_context(done.error(), setup_.identity.who()));
      }
    }
    for (int root = 0; root < roots; ++root) {
      names.push_back(concat(base, root));
    }
  }
  const auto records = meeting_->fetch(names, deadline);
  if (!records) {
    if (auto other = meeting_->failure()) {
      return BringUpFailure{Error{ErrorCode::kCommunicator, std::move(*other), {}, 0}, true, false};
    }
    return failed(with_context(records.error(), setup_.identity.who()));
  }
  size_t next = 0;
  for (size_t i = 0; i < count; ++i) {
    ids_.emplace_back();
    for (int root = 0; root < roots_of(groups_[i].group); ++root) {
      const auto record = decode_id_record((*records)[next++]);
      if (!record) {
        return failed(with_context(record.error(), describe_group(groups_[i].group)));
      }
      if (record->version != setup_.library.version) {
        return failed(Error{
            ErrorCode::kCommunicator,
            concat(describe_group(groups_[i].group), ": ", setup_.identity.who(), " has NCCL ",
                   format_nccl_version(setup_.library.version), " (", setup_.library.path, "), ",
                   record->maker, " has NCCL ", format_nccl_version(record->version), " (",
                   record->library, ")"),
            "all ranks need the same: DISTINIT_NCCL_LIBRARY=PATH or LD_LIBRARY_PATH names it", 0});
      }
      ids_.back().push_back(record->id);
    }
  }
  return std::nullopt;
}

std::optional<BringUpFailure> Communicators::start_group(GroupComm& group, Deadline deadline) {
  auto& ids = ids_[static_cast<size_t>(&group - groups_.data())];
  const int size = static_cast<int>(group.group.ranks.size());
  NcclConfig config = nonblocking();
  const NcclApi& api = setup_.library.api;
  return run(
      group, "bringing it up",
      [&] {
        return ids.size() > 1
                   ? api.comm_init_rank_scalable(&group.comm, size, group.group.position,
                                                 static_cast<int>(ids.size()), ids.data(), &config)
                   : api.comm_init_rank_config(&group.comm, size, ids.front(), group.group.position,
                                               &config);
      },
      [] { return Result<bool>(true); }, deadline);
}

std::optional<BringUpFailure> Communicators::split_group(GroupComm& group, Deadline deadline) {
  NcclConfig config = nonblocking();
  const GroupComm& world = groups_.front();
  // The world's communicator carries the call; the new one is there when that has ended.
  return run(
      group, "splitting the world's communicator",
      [&] {
        return setup_.library.api.comm_split(world.comm, group.group.index, group.group.position,
                                             &group.comm, &config);
      },
      [&]() -> Result<bool> {
        int code = kNcclSuccess;
        setup_.library.api.comm_get_async_error(world.comm, &code);
        if (code != kNcclSuccess && code != kNcclInProgress) {
          return Error{ErrorCode::kCommunicator, setup_.library.api.get_error_string(code), {}, 0};
        }
        return code == kNcclSuccess && group.comm != nullptr;
      },
      deadline);
}

std::optional<BringUpFailure> Communicators::run(const GroupComm& group, std::string_view doing,
                                                 const std::function<int()>& start,
                                                 const std::function<Result<bool>()>& is_done,
                                                 Deadline deadline, bool is_repetition) {
  if (!is_repetition) {
    meeting_->mark(++step_, true, deadline);
  }
  const int code = start();
  if (code != kNcclSuccess && code != kNcclInProgress) {
    return nccl_failed(group, doing, code, group.comm);
  }
  auto failure = poll(group, doing, is_done, deadline);
  if (!failure && !is_repetition) {
    meeting_->mark(step_, false, deadline);
  }
  return failure;
}

std::optional<BringUpFailure> Communicators::poll(const GroupComm& group, std::string_view doing,
                                                  const std::function<Result<bool>()>& is_done,
                                                  Deadline deadline) {
  auto pause = kFirstPause;
  Deadline next_look(kBetweenLooks);
  while (true) {
    int code = kNcclSuccess;
    if (group.comm != nullptr) {
      const int asked = setup_.library.api.comm_get_async_error(group.comm, &code);
      code = asked == kNcclSuccess ? code : asked;
    }
    if (code == kNcclSuccess) {
      const auto done = is_done();
      if (!done) {
        return failed(with_context(done.error(), concat(describe_group(group.group), ": ",
                                                        setup_.identity.who(), ": ", doing)));
      }
      if (*done) {
        return std::nullopt;
      }
    } else if (code != kNcclInProgress) {
      return nccl_failed(group, doing, code, group.comm);
    }
    if (deadline.has_passed()) {
      return too_late(group, doing);
    }
    if (next_look.has_passed()) {
      if (auto other = meeting_->failure()) {
        return BringUpFailure{Error{ErrorCode::kCommunicator, std::move(*other), {}, 0}, true,
                              false};
      }
      next_look = Deadline(kBetweenLooks);
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
}

std::optional<BringUpFailure> Communicators::others_failure() {
  const Deadline patience(kOthersReason);
  while (true) {
    if (auto other = meeting_->failure()) {
      return BringUpFailure{Error{ErrorCode::kCommunicator, std::move(*other), {}, 0}, true, false};
    }
    if (patience.has_passed()) {
      return std::nullopt;
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

BringUpFailure Communicators::failed(Error error) {
  tell_failure(error);
  return BringUpFailure{std::move(error), false, false};
}

void Communicators::tell_failure(const Error& error) {
  if (meeting_) {
    meeting_->tell_failure(error.what);
  }
}

BringUpFailure Communicators::nccl_failed(const GroupComm& group, std::string_view doing, int code,
                                          NcclComm comm) {
  const NcclApi& api = setup_.library.api;
  // A peer that is gone, or was aborted, is not the reason.
  if (code == kNcclRemoteError || code == kNcclSystemError) {
    if (auto other = others_failure()) {
      return std::move(*other);
    }
  }
  const char* last = api.get_last_error == nullptr ? nullptr : api.get_last_error(comm);
  const std::string_view more = last == nullptr ? "" : last;
  Error error{
      ErrorCode::kCommunicator,
      concat(describe_group(group.group), ": ", setup_.identity.who(), ": ", doing,
             " failed: ", std::string_view(api.get_error_string(code)), " (", code, ")",
             more.empty() ? "" : ": ", abbreviate(more, 300)),
      setup_.identity.gpu_pci.empty() && setup_.identity.hcas.empty()
          ? std::string("NCCL_DEBUG=INFO says more")
          : concat("look at GPU ", setup_.identity.gpu_pci.empty() ? "?" : setup_.identity.gpu_pci,
                   setup_.identity.hcas.empty() ? "" : " and HCA ", setup_.identity.hcas, " of ",
                   setup_.identity.node, "; NCCL_DEBUG=INFO says more"),
      0};
  return failed(std::move(error));
}

BringUpFailure Communicators::too_late(const GroupComm& group, std::string_view doing) {
  const auto found = meeting_->find_absent(group.group.ranks, step_);
  if (auto other = found ? std::nullopt : others_failure()) {
    return std::move(*other);
  }
  const std::string absent = found.value_or(std::string());
  return failed(Error{
      ErrorCode::kCommunicator,
      concat(describe_group(group.group), ": ", doing, " has not ended after ",
             setup_.identity.options.timeout_s, " s: ",
             absent.empty() ? concat("all its ranks have come, among them ", setup_.identity.who())
                            : absent),
      "look for that rank's own message; are the nodes' interfaces (NCCL_SOCKET_IFNAME) and HCAs "
      "reachable from each other? NCCL_DEBUG=INFO says more; timeout=SECONDS waits longer",
      ETIMEDOUT});
}

void Communicators::finalize(Deadline deadline) {
  const NcclApi& api = setup_.library.api;
  for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
    if (group->comm == nullptr) {
      continue;
    }
    int code = api.comm_finalize(group->comm);
    while (code == kNcclInProgress && !deadline.has_passed()) {
      std::this_thread::sleep_for(kFirstPause);
      api.comm_get_async_error(group->comm, &code);
    }
    code == kNcclSuccess ? api.comm_destroy(group->comm) : api.comm_abort(group->comm);
    group->comm = nullptr;
  }
  groups_.clear();
}

void Communicators::abort() {
  for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
    if (group->comm != nullptr) {
      setup_.library.api.comm_abort(std::exchange(group->comm, nullptr));
    }
  }
  groups_.clear();
}

}  // namespace distinit
