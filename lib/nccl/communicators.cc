// SPDX-License-Identifier: Apache-2.0
#include "lib/nccl/communicators.h"

#include "lib/base/text.h"
#include "lib/nccl/id_exchange.h"

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

NcclConfig nonblocking() {
  NcclConfig config;
  config.blocking = 0;
  return config;
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

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
  auto failure = take_ids(deadline);
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

std::optional<BringUpFailure> Communicators::take_ids(Deadline deadline) {
  std::vector<Membership> groups;
  for (const GroupComm& each : groups_) {
    groups.push_back(each.group);
  }
  groups.resize(by_split_ ? 1 : groups.size());
  auto ids = exchange_ids(*meeting_, setup_.library, setup_.identity, groups, deadline);
  if (ids) {
    ids_ = std::move(*ids);
    return std::nullopt;
  }
  if (auto other = meeting_->failure()) {
    return BringUpFailure{Error{ErrorCode::kCommunicator, std::move(*other), {}, 0}, true, false};
  }
  return failed(ids.error());
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
  Error error{
      ErrorCode::kCommunicator,
      concat(describe_group(group.group), ": ", setup_.identity.who(), ": ",
             nccl_call_failed(api, doing, code, comm)),
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
