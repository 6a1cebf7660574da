// SPDX-License-Identifier: Apache-2.0
#pragma once
// What agents say to each other after the handshake: frames whose first byte is the kind.

#include "lib/base/result.h"
#include "lib/rendezvous/node_report.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stdint.h>

namespace distinit {

enum class AgentMessage : uint8_t {
  kJoin = 1,  ///< member: who I am and which ranks I hold
  kPresent,   ///< member: ranks of mine that are ready to start
  kRelease,   ///< root: start
  kFailed,    ///< member: this went wrong here; the root prints it and aborts
  kAbort,     ///< root: end your tasks with this status; it has been printed
  kProbe,     ///< root: can you reach the store at this host?
  kProbed,    ///< member: 1 yes, 0 no
  kVouch,     ///< root: does this socket on your node belong to the step's user?
  kVouched,   ///< member
  kReport,    ///< member: a program can't be run; to be printed once for all
  kReported,  ///< root: printed, or printed before
  kEnding,    ///< root: rank 0's program has ended; my end is no failure from now on
  kDone,      ///< member: all my tasks have ended
  kFound,     ///< member, before its last kPresent: what it has found out about its node
  kCrashed,   ///< guard of a member, instead of kJoin: its agent is gone, for this reason
};

/// What a node brings to the rendezvous.
struct Join {
  std::string node;
  int group_rank = 0;
  std::vector<int> ranks;  ///< ascending
  std::string reached;  ///< the root's address as this node reached it; empty for the root itself
  std::string spec;     ///< must be equal on all nodes
  std::string version;  ///< distinit's; must be equal on all nodes

  bool operator==(const Join&) const = default;
};

/// What every node needs to start its tasks. In agent mode both endpoints are the same.
struct Release {
  std::string master_addr;
  int master_port = 0;
  std::string store_addr;
  int store_port = 0;

  bool operator==(const Release&) const = default;
};

/// A socket on a member's node, seen from the root: which end is whose.
struct VouchQuestion {
  uint64_t id = 0;
  std::string member_host;
  int member_port = 0;
  std::string root_host;
  int root_port = 0;

  bool operator==(const VouchQuestion&) const = default;
};

struct VouchAnswer {
  uint64_t id = 0;
  bool ours = false;
  std::string why;  ///< when not

  bool operator==(const VouchAnswer&) const = default;
};

std::string encode(const Join& join);
std::string encode(const Release& release);
std::string encode(const VouchQuestion& question);
std::string encode(const VouchAnswer& answer);
std::string encode(const NodeReport& report);
/// kFailed, kReport or kCrashed.
std::string encode(AgentMessage kind, const Error& error);
/// kPresent.
std::string encode(AgentMessage kind, const std::vector<int>& ranks);
/// kAbort (exit status), kProbed (0 or 1).
std::string encode(AgentMessage kind, uint32_t number);
/// kProbe (host).
std::string encode(AgentMessage kind, std::string_view text);
/// kReported, kEnding, kDone.
std::string encode(AgentMessage kind);

/// Each takes a frame's content; kInternal when it is not exactly such a message.
Result<Join> decode_join(std::string_view message);
Result<Release> decode_release(std::string_view message);
Result<VouchQuestion> decode_vouch_question(std::string_view message);
Result<VouchAnswer> decode_vouch_answer(std::string_view message);
Result<NodeReport> decode_node_report(std::string_view message);
/// nullopt when it is not such a message.
std::optional<Error> decode_error(std::string_view message);
Result<std::vector<int>> decode_ranks(std::string_view message);
Result<uint32_t> decode_count(std::string_view message);
Result<std::string> decode_text(std::string_view message);

}  // namespace distinit
