// SPDX-License-Identifier: Apache-2.0
#pragma once
// One thread, one epoll: descriptors and timers call back. Every process of ours that waits for
// more than one thing waits here.

#include "lib/base/deadline.h"
#include "lib/base/fd.h"
#include "lib/base/result.h"

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <stdint.h>

namespace distinit {

class EventLoop {
 public:
  /// Called with the epoll event bits (EPOLLIN, EPOLLHUP, …).
  using FdCallback = std::function<void(uint32_t events)>;
  using TimerId = uint64_t;

  static Result<EventLoop> create();
  EventLoop(EventLoop&&) = default;
  EventLoop& operator=(EventLoop&&) = default;

  /// Watches `fd` for `events` (level-triggered). The loop does not own the descriptor: remove it
  /// before it is closed. Fails with the system's reason (ENOSPC, ENOMEM) or when it is watched
  /// already.
  Status add(int fd, uint32_t events, FdCallback callback);
  void modify(int fd, uint32_t events);
  /// Never fails; also allowed inside callbacks, after which no stale event reaches the old
  /// callback.
  void remove(int fd);

  /// Calls back once, not before `delay` has passed.
  TimerId add_timer(milliseconds delay, std::function<void()> callback);
  /// An id that has fired or was cancelled is ignored.
  void cancel_timer(TimerId id);

  /// Runs until stop() was called or nothing is left to wait for.
  void run();
  /// Waits at most `longest` once and calls what is due.
  void run_once(milliseconds longest);
  void stop() { stopped_ = true; }

 private:
  explicit EventLoop(Fd epoll) : epoll_(std::move(epoll)) {}

  struct Watch {
    uint32_t generation = 0;
    std::shared_ptr<FdCallback> callback;
  };

  void run_timers();

  Fd epoll_;
  std::vector<Watch> watches_;  // by descriptor
  size_t watched_ = 0;
  uint32_t next_generation_ = 1;
  std::map<std::pair<Clock::time_point, TimerId>, std::function<void()>> timers_;
  std::map<TimerId, Clock::time_point> timer_times_;
  TimerId next_timer_ = 1;
  bool stopped_ = false;
};

}  // namespace distinit
