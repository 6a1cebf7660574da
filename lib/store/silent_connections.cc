// SPDX-License-Identifier: Apache-2.0
#include "lib/store/silent_connections.h"

namespace distinit {

void SilentConnections::opened(ConnectionId id, const std::string& address) {
  known_[id].address = address;
  hosts_[address].silent.insert(id);
  unpaired_.insert(id);
  pair_up(address);
}

void SilentConnections::spoke(ConnectionId id, bool is_legacy) {
  const auto found = known_.find(id);
  if (found == known_.end() || found->second.is_legacy) {
    return;
  }
  separate(id);
  drop_from_host(id, found->second);
  const std::string address = found->second.address;
  if (is_legacy) {
    found->second.is_legacy = true;
    hosts_[address].legacy.insert(id);
  } else {
    known_.erase(found);
  }
  pair_up(address);
}

void SilentConnections::closed(ConnectionId id) {
  const auto found = known_.find(id);
  if (found == known_.end()) {
    return;
  }
  separate(id);
  drop_from_host(id, found->second);
  const std::string address = found->second.address;
  known_.erase(found);
  pair_up(address);
}

std::optional<ConnectionId> SilentConnections::partner(ConnectionId id) const {
  const auto found = known_.find(id);
  return found == known_.end() ? std::nullopt : found->second.partner;
}

std::optional<ConnectionId> SilentConnections::oldest_unpaired() const {
  return unpaired_.empty() ? std::nullopt : std::optional(*unpaired_.begin());
}

void SilentConnections::pair_up(const std::string& address) {
  const auto found = hosts_.find(address);
  if (found == hosts_.end()) {
    return;
  }
  Host& host = found->second;
  while (!host.legacy.empty()) {
    // The oldest client without a companion has the oldest silent connection made after its own.
    const ConnectionId legacy = *host.legacy.begin();
    const auto silent = host.silent.upper_bound(legacy);
    if (silent == host.silent.end()) {
      return;
    }
    known_[legacy].partner = *silent;
    known_[*silent].partner = legacy;
    unpaired_.erase(*silent);
    host.silent.erase(silent);
    host.legacy.erase(legacy);
  }
}

void SilentConnections::separate(ConnectionId id) {
  Known& known = known_[id];
  Host& host = hosts_[known.address];
  if (known.partner) {
    Known& other = known_[*known.partner];
    other.partner.reset();
    (other.is_legacy ? host.legacy : host.silent).insert(*known.partner);
    if (!other.is_legacy) {
      unpaired_.insert(*known.partner);
    }
    known.partner.reset();
  }
}

void SilentConnections::drop_from_host(ConnectionId id, const Known& known) {
  unpaired_.erase(id);
  const auto host = hosts_.find(known.address);
  if (host == hosts_.end()) {
    return;
  }
  host->second.silent.erase(id);
  host->second.legacy.erase(id);
  if (host->second.silent.empty() && host->second.legacy.empty()) {
    hosts_.erase(host);
  }
}

}  // namespace distinit
