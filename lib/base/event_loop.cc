// SPDX-License-Identifier: Apache-2.0
#include "lib/base/event_loop.h"

#include <algorithm>
#include <array>

#include <errno.h>
#include <sys/epoll.h>

namespace distinit {

namespace {

uint64_t make_key(uint32_t generation, int fd) {
  return static_cast<uint64_t>(generation) << 32 | static_cast<uint32_t>(fd);
}

}  // namespace

Result<EventLoop> EventLoop::create() {
  Fd epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll.is_open()) {
    return system_error(ErrorCode::kInternal, "can't make an epoll instance", errno);
  }
  return EventLoop(std::move(epoll));
}

Status EventLoop::add(int fd, uint32_t events, FdCallback callback) {
  DISTINIT_CHECK(fd >= 0);
  const auto index = static_cast<size_t>(fd);
  if (index >= watches_.size()) {
    watches_.resize(std::max(index + 1, watches_.size() * 2));
  }
  epoll_event event{};
  event.events = events;
  event.data.u64 = make_key(next_generation_, fd);
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return system_error(ErrorCode::kInternal, "can't watch a descriptor", errno);
  }
  watches_[index] = Watch{next_generation_++, std::make_shared<FdCallback>(std::move(callback))};
  ++watched_;
  return Ok{};
}

void EventLoop::modify(int fd, uint32_t events) {
  const auto index = static_cast<size_t>(fd);
  DISTINIT_CHECK(index < watches_.size() && watches_[index].callback);
  epoll_event event{};
  event.events = events;
  event.data.u64 = make_key(watches_[index].generation, fd);
  DISTINIT_CHECK(epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event) == 0);
}

void EventLoop::remove(int fd) {
  const auto index = static_cast<size_t>(fd);
  if (fd < 0 || index >= watches_.size() || !watches_[index].callback) {
    return;
  }
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  watches_[index] = Watch{};
  --watched_;
}

EventLoop::TimerId EventLoop::add_timer(milliseconds delay, std::function<void()> callback) {
  const TimerId id = next_timer_++;
  const Clock::time_point at = Clock::now() + delay;
  timers_.emplace(std::pair(at, id), std::move(callback));
  timer_times_.emplace(id, at);
  return id;
}

void EventLoop::cancel_timer(TimerId id) {
  if (const auto found = timer_times_.find(id); found != timer_times_.end()) {
    timers_.erase(std::pair(found->second, id));
    timer_times_.erase(found);
  }
}

void EventLoop::run_timers() {
  // Timers that a callback adds are not due before the next round: no callback can keep us here.
  const Clock::time_point now = Clock::now();
  const TimerId first_new = next_timer_;
  while (!timers_.empty() && timers_.begin()->first.first <= now && !stopped_) {
    const auto first = timers_.begin();
    if (first->first.second >= first_new) {
      break;
    }
    const std::function<void()> callback = std::move(first->second);
    timer_times_.erase(first->first.second);
    timers_.erase(first);
    callback();
  }
}

void EventLoop::run_once(milliseconds longest) {
  milliseconds wait = longest;
  if (!timers_.empty()) {
    wait = std::min(wait, Deadline(timers_.begin()->first.first).remaining());
  }
  std::array<epoll_event, 256> events;
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                               static_cast<int>(wait.count()));
  DISTINIT_CHECK(count >= 0 || errno == EINTR);
  for (int i = 0; i < count && !stopped_; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    const auto index = static_cast<size_t>(event.data.u64 & 0xffffffff);
    const Watch& watch = watches_[index];
    if (!watch.callback || watch.generation != static_cast<uint32_t>(event.data.u64 >> 32)) {
      continue;  // removed by an earlier callback of this round
    }
    // Keeps the callback alive while it runs: it may remove itself.
    const std::shared_ptr<FdCallback> callback = watch.callback;
    (*callback)(event.events);
  }
  run_timers();
}

void EventLoop::run() {
  stopped_ = false;
  while (!stopped_ && (watched_ > 0 || !timers_.empty())) {
    run_once(milliseconds(60'000));
  }
}

}  // namespace distinit
