// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an agent asks of the rendezvous, the same on rank 0's node (root.h) and on every other
// (member.h).

#include "lib/base/event_loop.h"
#include "lib/base/log.h"
#include "lib/rendezvous/handshake.h"
#include "lib/rendezvous/messages.h"
#include "lib/slurm/step.h"
#include "lib/spec/mesh.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace distinit {

/// All that the rendezvous needs to know beforehand; plain values, the same type on every node.
struct RendezvousSetup {
  StepFacts facts;
  Spec spec;
  Options options;
  Mesh mesh;
  std::string version;
  std::optional<std::string> user_addr;  ///< MASTER_ADDR as the user set it
  std::optional<int> user_port;          ///< MASTER_PORT as the user set it
  std::string root_node;      ///< from the step's layout; empty where srun could not tell
  std::string root_address;   ///< that node's NodeAddr; may be empty
  int64_t start_time_ns = 0;  ///< CLOCK_REALTIME when srun launched; 0 unknown
};

/// What comes back. Each is called from the loop.
struct RendezvousEvents {
  /// Once: start the tasks.
  std::function<void(const Release&)> on_release;
  /// At most once, before or after the release: end this node's tasks with this status. Said
  /// already.
  std::function<void(int exit_status)> on_abort;
  /// Root only, after the release: no other node needs the store any more.
  std::function<void()> on_all_done;
};

class Rendezvous {
 public:
  virtual ~Rendezvous() = default;

  /// What this node has found out about itself: told by the root, once for all nodes that say the
  /// same, when the step is released. Before the last ranks_present, or never.
  virtual void node_found(const NodeReport& report) = 0;
  /// All of this node's ranks that have been ready so far.
  virtual void ranks_present(const std::vector<int>& ranks) = 0;
  /// Something on this node ends the step. Printed once, by the root where it can be reached.
  virtual void fail(const Error& error) = 0;
  /// A program can't be run: printed once for all ranks of the step that say the same; `printed` is
  /// called after that, or when nobody can print it.
  virtual void report(const Error& error, std::function<void()> printed) = 0;
  /// Rank 0's program has ended (root only): the store may go, with no harm meant.
  virtual void ending() = 0;
  /// All of this node's tasks have ended.
  virtual void done() = 0;
  /// Nothing is left that must still be sent.
  virtual bool is_flushed() const = 0;
};

/// The port that the user fixed, from port= or MASTER_PORT (port= wins); nullopt for none.
std::optional<int> fixed_port(const RendezvousSetup& setup);

/// Where the store itself may be: the fixed port only where torch's store is ours too.
std::vector<int> store_ports(const RendezvousSetup& setup);

/// Where members look for the root: store_ports, then the sequence, where a root that could not get
/// a fixed port tells them so.
std::vector<int> meeting_ports(const RendezvousSetup& setup);

/// "after 5, 10, 20, … s": the next time to say who is missing.
milliseconds next_reminder(milliseconds previous);

}  // namespace distinit
