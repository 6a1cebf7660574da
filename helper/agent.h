// SPDX-License-Identifier: Apache-2.0
#pragma once
// The worker of a node's agent: brings tasks (agent_tasks.h) and rendezvous together, and ends with
// the last task.

#include "helper/agent_guard.h"
#include "helper/agent_setup.h"
#include "helper/agent_tasks.h"
#include "helper/node_placement.h"
#include "lib/topo/topology_loader.h"
#include "lib/rendezvous/root.h"

#include <memory>
#include <optional>

namespace distinit {

class Agent {
 public:
  /// All references must outlive it; `listening` is the unix socket that the tasks connect to.
  Agent(EventLoop& loop, Log& log, const StepKey& key, const AgentSetup& setup, GuardBoard& board,
        Fd listening);
  /// Runs until everything has ended; returns the exit status.
  int run();

 private:
  Status start();
  Status read_topology();
  void on_topology(Result<Discovery> discovery);
  void place_tasks();
  void on_present(const std::vector<int>& ranks);
  void tell_present();
  void on_lost(int rank, const std::string& why);
  void on_release(const Release& release);
  void report_placement() const;
  void on_abort(int exit_status);
  void on_exited(int rank, int wait_status);
  void on_started(int rank);
  void on_all_ended();
  void on_all_done();
  void on_signal();
  void end_soon(int exit_status);
  void finish_when_flushed();
  std::string who(int rank) const;

  EventLoop& loop_;
  Log& log_;
  const StepKey& key_;
  const AgentSetup& setup_;
  GuardBoard& board_;
  TaskTable tasks_;
  std::unique_ptr<Rendezvous> rendezvous_;
  Root* root_ = nullptr;  // the same object, where this node is the root's
  std::unique_ptr<TopologyLoader> topology_;
  bool waits_for_topology_ = false;
  std::optional<NodePlacement> placement_;  // the plan is made when all tasks are there
  std::vector<int> present_;
  Fd signals_;
  bool released_ = false;
  bool aborted_ = false;
  bool ending_ = false;
  bool everybody_done_ = false;
  int staying_rank_ = -1;  // has ended its program and waits for our word
  int exit_status_ = 0;
  Deadline flush_deadline_{milliseconds(0)};
};

}  // namespace distinit
