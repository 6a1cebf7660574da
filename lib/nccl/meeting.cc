// SPDX-License-Identifier: Apache-2.0
#include "lib/nccl/meeting.h"

#include "lib/base/text.h"

#include <errno.h>

namespace distinit {

namespace {

/// For an answer that needs nobody but the store.
constexpr milliseconds kStoreAnswer{5000};
/// The counter holds ranks that have told below, and those of them that can't above.
constexpr int64_t kUnable = int64_t{1} << 32;
/// More names do not help.
constexpr size_t kMostNamed = 8;

struct Mark {
  int step = 0;
  bool inside = false;
  std::string node;
};

Mark parse_mark(std::string_view text) {
  const auto parts = split(text, ' ');
  Mark mark;
  if (parts.size() == 3) {
    mark.step = static_cast<int>(parse_number(parts[0], 0, 1'000'000).value_or(0));
    mark.inside = parts[1] == "in";
    mark.node = parts[2];
  }
  return mark;
}

}  // namespace

Result<Meeting> Meeting::open(const RankIdentity& identity, std::string_view purpose,
                              Deadline deadline) {
  DISTINIT_ASSIGN_OR_RETURN(
      StoreClient store, StoreClient::connect(identity.store_host, identity.store_port, deadline));
  Meeting meeting(std::move(store), identity);
  const std::string base = concat("distinit/comm/", identity.step, '/', purpose, '/');
  DISTINIT_ASSIGN_OR_RETURN(
      const int64_t attempt,
      meeting.store_.add(concat(base, "attempts/", identity.rank), 1, deadline));
  meeting.prefix_ = concat(base, attempt, '/');
  return meeting;
}

std::string Meeting::key(std::string_view name) const {
  return concat(prefix_, name);
}

Result<int> Meeting::agree(std::string_view unable, Deadline deadline) {
  mark(0, true, deadline);
  if (!unable.empty()) {
    DISTINIT_RETURN_IF_ERROR(publish("unable", concat(identity_.who(), ": ", unable), deadline));
  }
  DISTINIT_ASSIGN_OR_RETURN(const int64_t told,
                            store_.add(key("told"), unable.empty() ? 1 : 1 + kUnable, deadline));
  if (told % kUnable == identity_.mesh.world_size) {
    DISTINIT_RETURN_IF_ERROR(publish("verdict", concat(told / kUnable), deadline));
  }
  const auto verdict = store_.get(key("verdict"), deadline);
  if (verdict) {
    return static_cast<int>(
        parse_number(*verdict, 0, identity_.mesh.world_size).value_or(identity_.mesh.world_size));
  }
  if (verdict.error().sys_errno != ETIMEDOUT) {
    return verdict.error();
  }
  std::vector<int> all;
  for (int rank = 0; rank < identity_.mesh.world_size; ++rank) {
    all.push_back(rank);
  }
  const std::string absent = find_absent(all, 0).value_or(std::string());
  return Error{
      ErrorCode::kCommunicator,
      absent.empty() ? "not all ranks have come to bring communicators up"
                     : concat("communicators: ", absent),
      "all ranks must call it; look for that rank's own message, or a longer timeout=", ETIMEDOUT};
}

std::string Meeting::why_unable() {
  return look("unable").value_or("another rank can't");
}

Status Meeting::publish(const std::string& name, std::string_view value, Deadline deadline) {
  return store_.set(key(name), value, deadline);
}

Result<std::vector<std::string>> Meeting::fetch(std::vector<std::string> names, Deadline deadline) {
  for (std::string& name : names) {
    name = key(name);
  }
  return store_.multi_get(names, deadline);
}

void Meeting::mark(int step, bool inside, Deadline deadline) {
  // Only for messages: a store that is gone is told by what follows.
  static_cast<void>(store_
                        .set(key(concat("at/", identity_.rank)),
                             concat(step, inside ? " in " : " out ", identity_.node), deadline)
                        .has_value());
}

std::optional<std::string> Meeting::look(std::string_view name) {
  const Deadline soon(kStoreAnswer);
  const auto is_there = store_.check({key(name)}, soon);
  if (!is_there || !*is_there) {
    return std::nullopt;
  }
  auto value = store_.get(key(name), soon);
  return value ? std::optional(std::move(*value)) : std::nullopt;
}

std::optional<std::string> Meeting::failure() {
  return look("failure");
}

void Meeting::tell_failure(std::string_view text) {
  static_cast<void>(
      store_.compare_set(key("failure"), "", text, Deadline(kStoreAnswer)).has_value());
}

std::optional<std::string> Meeting::find_absent(const std::vector<int>& ranks, int step) {
  const auto asked = store_.add(key("asked"), 1, Deadline(kStoreAnswer));
  if (!asked || *asked != 1) {
    return std::nullopt;
  }
  std::vector<std::string> absent;
  std::vector<std::string> inside;
  bool some_left = false;
  for (const int rank : ranks) {
    const auto text = look(concat("at/", rank));
    if (!text) {
      absent.push_back(concat("rank ", rank));
      continue;
    }
    const Mark at = parse_mark(*text);
    const std::string who = concat("rank ", rank, " on ", at.node);
    if (at.step < step) {
      absent.push_back(who);
    } else if (at.step == step && at.inside) {
      inside.push_back(who);
    } else {
      some_left = true;
    }
  }
  std::string_view what = absent.size() == 1 ? " has not come" : " have not come";
  if (absent.empty() && some_left) {
    absent = std::move(inside);
    what = absent.size() == 1 ? " does not return from it" : " do not return from it";
  }
  if (absent.empty()) {
    return std::string();
  }
  const size_t left = absent.size() > kMostNamed ? absent.size() - kMostNamed : 0;
  absent.resize(absent.size() - left);
  return concat(join(absent, ", "), left == 0 ? "" : concat(" and ", left, " more"), what);
}

}  // namespace distinit
