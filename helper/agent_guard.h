// SPDX-License-Identifier: Apache-2.0
#pragma once
// Two processes make one agent: the worker does everything, the guard waits for its end. When the
// worker ends without having finished (killed, crashed), the guard says so, ends this node's tasks,
// and tells the root, or the nodes that come to a root that is gone, so that nobody waits for it.

#include "lib/base/log.h"
#include "lib/rendezvous/rendezvous.h"

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include <sys/types.h>

namespace distinit {

/// What the worker leaves where the guard can read it: one anonymous shared mapping.
class GuardBoard {
 public:
  static Result<std::unique_ptr<GuardBoard>> create();
  ~GuardBoard();

  /// The worker: these processes are to be ended if I am not there to do it (at most kMostPids are
  /// kept).
  void set_pids(const std::vector<pid_t>& pids);
  /// The worker: every node has met the root.
  void set_released();
  /// The worker: what happens from now on has been said and done.
  void set_finished();
  std::vector<pid_t> pids() const;
  bool is_released() const;
  bool is_finished() const;

 private:
  struct Shared;
  explicit GuardBoard(Shared* shared) : shared_(shared) {}

  Shared* shared_;
};

/// Blocks all signals and forks. Returns nullopt in the worker, and in the guard, when all is over,
/// the exit status. `key` and `setup` are what the guard needs to find the root, or to be found in
/// its place; `holds_rank0` when this node is the root's.
std::optional<int> become_guard(const Log& log, const StepKey& key, const RendezvousSetup& setup,
                                bool holds_rank0, const GuardBoard& board);

}  // namespace distinit
