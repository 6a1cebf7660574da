// SPDX-License-Identifier: Apache-2.0
#pragma once
// Connections that have not said which protocol they speak. A D1 client opens a second one and
// never says anything on it, so silence alone is no reason to close one, except that there must be
// an end somewhere: the oldest that belongs to nobody goes first. Knows ids and addresses, no
// sockets.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include <stddef.h>
#include <stdint.h>

namespace distinit {

/// Ascends with time of accept; never used twice.
using ConnectionId = uint64_t;

/// Pairs each D1-or-D2 connection with one silent connection that came after it from the same
/// address. A pair member that speaks, or whose partner closes, is free for another partner.
class SilentConnections {
 public:
  /// A new connection, silent so far.
  void opened(ConnectionId id, const std::string& address);
  /// It has shown its dialect, D1-or-D2 or (`is_legacy` false) another.
  void spoke(ConnectionId id, bool is_legacy);
  /// It is gone. Unknown ids are ignored.
  void closed(ConnectionId id);

  /// The other of the pair: for a D1-or-D2 connection its silent companion, and back.
  std::optional<ConnectionId> partner(ConnectionId id) const;
  /// The one to close first when there are too many.
  std::optional<ConnectionId> oldest_unpaired() const;
  size_t unpaired_count() const { return unpaired_.size(); }

 private:
  struct Known {
    std::string address;
    bool is_legacy = false;
    std::optional<ConnectionId> partner;
  };
  struct Host {
    std::set<ConnectionId> silent;  // without a partner
    std::set<ConnectionId> legacy;  // without a partner
  };

  void pair_up(const std::string& address);
  void separate(ConnectionId id);
  void drop_from_host(ConnectionId id, const Known& known);

  std::unordered_map<ConnectionId, Known> known_;
  std::unordered_map<std::string, Host> hosts_;
  std::set<ConnectionId> unpaired_;  // silent, of all hosts
};

}  // namespace distinit
