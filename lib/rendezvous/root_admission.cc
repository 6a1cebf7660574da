// SPDX-License-Identifier: Apache-2.0
// The part of the root that decides which connections may use the store. A torch client cannot
// prove a secret; the kernel of the node that it comes from knows whose socket it is.

#include "lib/base/socket_owner.h"
#include "lib/base/text.h"
#include "lib/rendezvous/root.h"

#include <utility>

#include <unistd.h>

namespace distinit {

namespace {

constexpr milliseconds kVouchLimit{5000};
/// Refusals that are told; a scanner must not fill the job's output.
constexpr int kMostToldRefusals = 3;
/// Where the address tells no node, this many agents may be asked for one connection.
constexpr size_t kMostAsked = 64;

}  // namespace

void Root::admit(const SocketAddress& peer, const SocketAddress& local,
                 std::function<void(bool)> decide) {
  if (!peer.is_loopback() && !is_own_address(peer)) {
    ask_members(peer, local, std::move(decide));
    return;
  }
  const auto owner = socket_owner(peer.storage(), local.storage());
  const bool ours = owner && *owner == getuid();
  if (!ours) {
    refuse(peer, owner ? concat("it belongs to uid ", *owner) : owner.error().what);
  }
  decide(ours);
}

void Root::ask_members(const SocketAddress& peer, const SocketAddress& local,
                       std::function<void(bool)> decide) {
  std::vector<std::shared_ptr<Peer>> same_host;
  std::vector<std::shared_ptr<Peer>> all;
  for (const auto& [link, other] : peers_) {
    if (other->group_rank < 0) {
      continue;
    }
    all.push_back(other);
    if (SocketAddress::peer_of(link->fd()).host() == peer.host()) {
      same_host.push_back(other);
    }
  }
  // A node may use another of its addresses than its agent did.
  const auto& asked = same_host.empty() ? all : same_host;
  if (asked.empty() || asked.size() > kMostAsked) {
    refuse(peer, "no node of this step is known by that address");
    decide(false);
    return;
  }
  const uint64_t id = next_vouch_++;
  Vouch vouch{std::move(decide), asked.size(), peer, {}, 0};
  vouch.timer = loop_.add_timer(kVouchLimit, [this, id] {
    const auto found = vouches_.extract(id);
    if (!found.empty()) {
      refuse(found.mapped().peer, "no agent has answered for it");
      found.mapped().decide(false);
    }
  });
  vouches_.emplace(id, std::move(vouch));
  const std::string question =
      encode(VouchQuestion{id, peer.host(), peer.port(), local.host(), local.port()});
  for (const auto& other : asked) {
    other->link->send(question);
  }
}

void Root::on_vouched(const std::string& message) {
  const auto answer = decode_vouch_answer(message);
  const auto found = answer ? vouches_.find(answer->id) : vouches_.end();
  if (found == vouches_.end()) {
    return;
  }
  Vouch& vouch = found->second;
  --vouch.unanswered;
  if (!answer->ours && vouch.unanswered > 0) {
    vouch.why = answer->why;
    return;
  }
  const auto decide = std::move(vouch.decide);
  const SocketAddress peer = vouch.peer;
  loop_.cancel_timer(vouch.timer);
  vouches_.erase(found);
  if (!answer->ours) {
    refuse(peer, answer->why);
  }
  decide(answer->ours);
}

void Root::refuse(const SocketAddress& peer, std::string_view why) {
  if (++refusals_ <= kMostToldRefusals) {
    log_.warn(concat("refused a connection to the store from ", peer.text(), ": ", why));
  }
}

}  // namespace distinit
