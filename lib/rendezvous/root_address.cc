// SPDX-License-Identifier: Apache-2.0
// The part of the root that decides MASTER_ADDR: by what the other nodes have reached, or by asking
// them.

#include "lib/base/text.h"
#include "lib/rendezvous/resolver.h"
#include "lib/rendezvous/root.h"

#include <algorithm>

namespace distinit {

namespace {

/// The members' own limit is shorter.
constexpr milliseconds kProbeLimit{8000};

}  // namespace

void Root::choose_address() {
  const bool alone = setup_.facts.node_count == 1;
  if (setup_.options.address == AddressForm::kName) {
    std::string name = setup_.facts.node_name;
    if (const size_t at = setup_.options.address_template.find("%n"); at != std::string::npos) {
      name = setup_.options.address_template;
      name.replace(at, 2, setup_.facts.node_name);
    }
    candidates_.push_back(name);
  } else if (!setup_.options.interface.empty()) {
    const std::string host = interface_address(setup_.options.interface);
    if (host.empty()) {
      fail(Error{ErrorCode::kRendezvous,
                 concat("interface=", setup_.options.interface, ": ", setup_.facts.node_name,
                        " has no such interface, or it has no address"),
                 "see `ip address` there", 0});
      return;
    }
    if (const auto address = SocketAddress::parse(host, 0);
        !alone && address && address->is_loopback()) {
      fail(Error{ErrorCode::kRendezvous,
                 concat("interface=", setup_.options.interface, ": no other node can reach ",
                        setup_.facts.node_name, " as ", host),
                 "name the interface of the network between the nodes", 0});
      return;
    }
    candidates_.push_back(host);
  } else {
    candidates_ = reached_addresses(roster_.joined());
    if (alone) {
      candidates_.push_back("127.0.0.1");
    }
  }
  if (!setup_.user_addr) {
    probe_next();
    return;
  }
  // The user's text counts if it means this node; a stale one (an outer job's, another step's)
  // can't work.
  resolve(loop_, *setup_.user_addr,
          [this, alone, alive = alive_](const std::vector<SocketAddress>& found) {
            if (!*alive || over_) {
              return;
            }
            // Debian's installer gives a host's own name 127.0.1.1 there; the others know better.
            const bool takes_loopback =
                alone || is_name_of_this_host(*setup_.user_addr, setup_.facts.node_name);
            const bool here = std::any_of(
                found.begin(), found.end(), [takes_loopback](const SocketAddress& address) {
                  return is_own_address(address) && (takes_loopback || !address.is_loopback());
                });
            if (here) {
              candidates_.insert(candidates_.begin(), *setup_.user_addr);
            } else {
              log_.warn(
                  concat("MASTER_ADDR=", abbreviate(*setup_.user_addr),
                         found.empty() ? " (which does not resolve)" : "", " is not ",
                         setup_.facts.node_name, ", where rank 0 runs",
                         candidates_.empty() ? "" : concat(": ", candidates_.front(), " is used")),
                  "unset MASTER_ADDR before srun");
            }
            probe_next();
          });
}

void Root::probe_next() {
  if (candidates_.empty()) {
    fail(Error{ErrorCode::kRendezvous,
               concat(setup_.facts.node_name, " has no address that every node can reach"),
               "name the network with interface=NAME or address.template=", 0});
    return;
  }
  candidate_ = candidates_.front();
  candidates_.erase(candidates_.begin());
  const bool known = is_reached_by_all(roster_.joined(), candidate_);
  if (setup_.facts.node_count == 1 || known) {
    release(candidate_);
    return;
  }
  for (const auto& [link, peer] : peers_) {
    peer->probed.reset();
  }
  broadcast(encode(AgentMessage::kProbe, std::string_view(candidate_)));
  loop_.cancel_timer(probe_deadline_);
  probe_deadline_ = loop_.add_timer(kProbeLimit, [this] {
    for (const auto& [link, peer] : peers_) {
      if (!peer->probed) {
        peer->probed = false;
      }
    }
    on_probed();
  });
}

void Root::on_probed() {
  std::string unreached;
  for (const auto& [link, peer] : peers_) {
    if (peer->group_rank < 0) {
      continue;
    }
    if (!peer->probed) {
      return;  // still to come
    }
    if (!*peer->probed) {
      unreached = roster_.find(peer->group_rank)->node;
    }
  }
  if (released_ || over_) {
    return;
  }
  loop_.cancel_timer(probe_deadline_);
  if (unreached.empty()) {
    release(candidate_);
    return;
  }
  const std::string what =
      concat(unreached, " can't reach ", setup_.facts.node_name, " as ", candidate_);
  if (candidates_.empty()) {
    fail(Error{
        ErrorCode::kRendezvous, what,
        "leave out address= and interface= to use the address that the nodes found by themselves",
        0});
    return;
  }
  if (setup_.user_addr == candidate_) {
    log_.warn(concat("MASTER_ADDR=", abbreviate(candidate_), ": ", what, ": ", candidates_.front(),
                     " is used"),
              "unset MASTER_ADDR before srun");
  } else {
    log_.info(what);
  }
  probe_next();
}

}  // namespace distinit
