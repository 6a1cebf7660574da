// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tasks of one node as the agent sees them: their stages' connections, who they are, and when
// their processes end.

#include "lib/base/event_loop.h"
#include "lib/base/frame_link.h"
#include "lib/spec/protocol.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

namespace distinit {

class TaskTable {
 public:
  struct Events {
    /// All ranks that have said hello so far, ascending.
    std::function<void(const std::vector<int>& ranks)> on_present;
    /// A task ended, or spoke nonsense, before it was told to go.
    std::function<void(int rank, const std::string& why)> on_lost;
    /// A task's program can't be run; answer with reported().
    std::function<void(int rank, const Report&)> on_report;
    /// The program of a task that stays as parent has ended with this wait status.
    std::function<void(int rank, int wait_status)> on_exited;
    /// A task that was told to go is running its program now.
    std::function<void(int rank)> on_started;
    /// One more task has ended: pids() lacks it from now on. May be empty.
    std::function<void()> on_ended;
    /// Every task of the node has ended.
    std::function<void()> on_all_ended;
  };

  /// Accepts on the listening unix socket, from this user's processes only. `node_ranks`: the ranks
  /// that will come. `stage_wait`: how long a stage shall wait for us at most.
  TaskTable(EventLoop& loop, Fd listening, std::vector<int> node_ranks, milliseconds stage_wait,
            Events events);
  ~TaskTable();
  Status start();

  const std::map<int, Hello>& hellos() const { return hellos_; }
  void go(int rank, const Go& go);
  /// Tells every task that has not been told to go, now or when it comes, to end with this status.
  void fail_all(int exit_status);
  void reported(int rank);
  /// A task that stayed as parent may end.
  void release(int rank);
  /// SIGKILL for every task's process.
  void kill_all() const;
  std::vector<pid_t> pids() const;
  std::map<int, pid_t> pids_by_rank() const;
  bool has_ended() const { return ended_ == node_ranks_.size(); }

 private:
  struct Task {
    std::shared_ptr<FrameLink> link;
    pid_t pid = 0;
    Fd pidfd;
    int rank = -1;
    bool told = false;
    bool started = false;
    bool ended = false;
    EventLoop::TimerId poll = 0;
  };

  void accept_one();
  void on_message(const std::shared_ptr<Task>& task, const std::string& message);
  void on_hello(const std::shared_ptr<Task>& task, const std::string& message);
  void on_closed(const std::shared_ptr<Task>& task);
  void watch_process(const std::shared_ptr<Task>& task);
  void poll_process(const std::shared_ptr<Task>& task);
  void on_ended(const std::shared_ptr<Task>& task);

  EventLoop& loop_;
  Fd listening_;
  std::vector<int> node_ranks_;
  milliseconds stage_wait_;
  Events events_;
  std::map<FrameLink*, std::shared_ptr<Task>> strangers_;  // no hello yet
  std::map<int, std::shared_ptr<Task>> tasks_;             // by rank
  std::map<int, Hello> hellos_;
  int failed_status_ = -1;
  size_t ended_ = 0;
};

}  // namespace distinit
