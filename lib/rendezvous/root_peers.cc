// SPDX-License-Identifier: Apache-2.0
// The part of the root that talks to the other agents: handshake, join, what they tell, their end.

#include "lib/base/exit_status.h"
#include "lib/base/text.h"
#include "lib/base/wire.h"
#include "lib/rendezvous/keepalive.h"
#include "lib/rendezvous/root.h"

#include <algorithm>
#include <utility>

#include <string.h>

namespace distinit {

namespace {

/// A connection that begins like an agent's must have proved the secret by then.
constexpr milliseconds kProofLimit{10'000};
constexpr size_t kMostUnproved = 4096;
/// A member whose agent is gone: its guard connects and tells why within this.
constexpr milliseconds kGuardWait{1500};

}  // namespace

void Root::on_stranger(Fd fd, std::string received) {
  const auto unproved = std::count_if(peers_.begin(), peers_.end(),
                                      [](const auto& entry) { return !entry.second->proved; });
  if (static_cast<size_t>(unproved) >= kMostUnproved) {
    return;
  }
  keep_link_alive(fd.get());
  auto peer = std::make_shared<Peer>();
  const std::weak_ptr<Peer> weak = peer;
  auto link = FrameLink::open(
      loop_, std::move(fd),
      [this, weak](const std::string& message) {
        if (const auto self = weak.lock()) {
          on_message(self, message);
        }
      },
      [this, weak](int sys_errno) {
        if (const auto self = weak.lock()) {
          on_lost(self, sys_errno);
        }
      },
      received.substr(kAgentPreamble.size()));
  if (!link) {
    return;
  }
  peer->link = std::move(*link);
  peer->timer = loop_.add_timer(kProofLimit, [this, weak] {
    if (const auto self = weak.lock()) {
      drop(self);
    }
  });
  peers_.emplace(peer->link.get(), peer);
}

void Root::on_message(const std::shared_ptr<Peer>& peer, const std::string& message) {
  if (!peer->proved) {
    on_handshake(peer, message);
    return;
  }
  switch (static_cast<AgentMessage>(message.empty() ? 0 : message[0])) {
    case AgentMessage::kJoin:
      on_join(peer, message);
      break;
    case AgentMessage::kPresent:
      if (const auto ranks = decode_ranks(message)) {
        roster_.present(peer->group_rank, *ranks);
        check_complete();
      }
      break;
    case AgentMessage::kFound:
      if (auto report = decode_node_report(message)) {
        reports_[peer->group_rank] = std::move(*report);
      }
      break;
    case AgentMessage::kFailed:
      on_failed(message);
      break;
    case AgentMessage::kProbed:
      if (const auto reached = decode_count(message)) {
        peer->probed = *reached == 1;
        on_probed();
      }
      break;
    case AgentMessage::kVouched:
      on_vouched(message);
      break;
    case AgentMessage::kReport:
      if (const auto error = decode_error(message)) {
        printed_.print(log_, *error);
      }
      peer->link->send(encode(AgentMessage::kReported));
      break;
    case AgentMessage::kDone:
      peer->done = true;
      check_all_done();
      break;
    case AgentMessage::kCrashed:
      if (const auto error = decode_error(message)) {
        fail(*error);
      }
      peer->link->send(encode(AgentMessage::kAbort, uint32_t{kExitRendezvous}));
      break;
    default:
      break;
  }
}

void Root::on_handshake(const std::shared_ptr<Peer>& peer, std::string_view message) {
  if (peer->member_nonce.empty()) {
    if (message.size() != kNonceSize) {
      drop(peer);
      return;
    }
    peer->member_nonce = message;
    peer->root_nonce = make_nonce();
    WireWriter writer;
    writer.put_text(peer->root_nonce);
    writer.put_text(key_.proof(kRootSide, peer->member_nonce, peer->root_nonce));
    peer->link->send(make_frame(writer.take()));
    return;
  }
  if (!key_.accepts(message, kMemberSide, peer->member_nonce, peer->root_nonce)) {
    refuse(SocketAddress::peer_of(peer->link->fd()),
           "it speaks as an agent and does not know the step's secret");
    drop(peer);
    return;
  }
  peer->proved = true;
  loop_.cancel_timer(peer->timer);
}

void Root::on_join(const std::shared_ptr<Peer>& peer, const std::string& message) {
  const auto join = decode_join(message);
  if (!join) {
    fail(join.error());
    return;
  }
  log_.debug("rendezvous", concat(join->node, " has joined by ", join->reached));
  if (const auto taken = roster_.join(*join); !taken) {
    fail(taken.error());
    return;
  }
  peer->group_rank = join->group_rank;
  if (abort_status_) {
    peer->link->send(encode(AgentMessage::kAbort, static_cast<uint32_t>(*abort_status_)));
  }
  if (roster_.has_all_nodes()) {
    met_ = Clock::now();
    abort_own();
  }
}

void Root::on_failed(const std::string& message) {
  if (const auto error = decode_error(message)) {
    fail(*error);
  }
}

void Root::on_lost(const std::shared_ptr<Peer>& peer, int sys_errno) {
  const bool joined = peer->group_rank >= 0;
  const bool was_done = peer->done;
  const int group_rank = peer->group_rank;
  drop(peer);
  if (!joined || was_done || over_) {
    return;
  }
  const std::string node = roster_.find(group_rank)->node;
  if (!released_) {
    has_lost_node_ = true;
    // Its guard says why, if it can.
    loop_.add_timer(kGuardWait, [this, node, alive = alive_] {
      if (*alive) {
        fail(Error{ErrorCode::kRendezvous,
                   concat("the agent on ", node, " ended before the step could start"),
                   "look for a message from that node, or in its slurmd and system log", 0});
      }
    });
    return;
  }
  if (is_network_loss(sys_errno)) {
    fail(Error{ErrorCode::kRendezvous, concat("lost node ", node, ": ", strerror(sys_errno)),
               "its network or the node itself is gone: the step is ended", 0});
  }
  // Else its tasks have ended: Slurm ends the agent with them, often before it can say so. A crash
  // is told by that node's guard.
  check_all_done();
}

void Root::drop(const std::shared_ptr<Peer>& peer) {
  loop_.cancel_timer(peer->timer);
  if (peer->link) {
    peers_.erase(peer->link.get());
    peer->link->close();
  }
}

void Root::broadcast(std::string_view frames) {
  for (const auto& [link, peer] : peers_) {
    if (peer->group_rank >= 0 && !peer->done) {
      peer->link->send(frames);
    }
  }
}

}  // namespace distinit
