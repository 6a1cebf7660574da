// SPDX-License-Identifier: Apache-2.0
#include "helper/agent_tasks.h"

#include "lib/base/text.h"

#include <algorithm>
#include <utility>

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace distinit {

namespace {

/// For kernels without pidfd_open (before 5.3).
constexpr milliseconds kProcessPoll{250};

}  // namespace

TaskTable::TaskTable(EventLoop& loop, Fd listening, std::vector<int> node_ranks,
                     milliseconds stage_wait, Events events)
    : loop_(loop),
      listening_(std::move(listening)),
      node_ranks_(std::move(node_ranks)),
      stage_wait_(stage_wait),
      events_(std::move(events)) {}

TaskTable::~TaskTable() {
  loop_.remove(listening_.get());
  for (const auto& [rank, task] : tasks_) {
    loop_.remove(task->pidfd.get());
    loop_.cancel_timer(task->poll);
  }
}

Status TaskTable::start() {
  DISTINIT_RETURN_IF_ERROR(set_nonblocking(listening_.get()));
  return loop_.add(listening_.get(), EPOLLIN, [this](uint32_t) { accept_one(); });
}

void TaskTable::accept_one() {
  Fd fd(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd.is_open()) {
    return;
  }
  // An abstract socket has no permissions: anybody on the node may connect.
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.uid != getuid()) {
    return;
  }
  auto task = std::make_shared<Task>();
  task->pid = peer.pid;
  const std::weak_ptr<Task> weak = task;
  auto link = FrameLink::open(
      loop_, std::move(fd),
      [this, weak](const std::string& message) {
        if (const auto self = weak.lock()) {
          on_message(self, message);
        }
      },
      [this, weak](int) {
        if (const auto self = weak.lock()) {
          on_closed(self);
        }
      });
  if (!link) {
    return;
  }
  task->link = std::move(*link);
  task->link->send(encode_number(TaskMessage::kWait, static_cast<uint32_t>(stage_wait_.count())));
  strangers_.emplace(task->link.get(), task);
}

void TaskTable::on_message(const std::shared_ptr<Task>& task, const std::string& message) {
  switch (static_cast<TaskMessage>(message_kind(message))) {
    case TaskMessage::kHello:
      on_hello(task, message);
      break;
    case TaskMessage::kReport:
      if (const auto report = decode_report(message); report && task->told) {
        events_.on_report(task->rank, *report);
      }
      break;
    case TaskMessage::kExited:
      if (const auto status = decode_number(TaskMessage::kExited, message); status && task->told) {
        events_.on_exited(task->rank, static_cast<int>(*status));
      }
      break;
    default:
      break;
  }
}

void TaskTable::on_hello(const std::shared_ptr<Task>& task, const std::string& message) {
  auto hello = decode_hello(message);
  const bool expected =
      hello && task->rank < 0 &&
      std::find(node_ranks_.begin(), node_ranks_.end(), hello->rank) != node_ranks_.end() &&
      !tasks_.contains(hello->rank);
  if (!expected) {
    strangers_.erase(task->link.get());
    task->link->close();
    return;
  }
  task->rank = hello->rank;
  strangers_.erase(task->link.get());
  tasks_.emplace(task->rank, task);
  hellos_.emplace(task->rank, std::move(*hello));
  watch_process(task);
  if (failed_status_ >= 0) {
    task->link->send(encode_number(TaskMessage::kFail, static_cast<uint32_t>(failed_status_)));
    return;
  }
  std::vector<int> ranks;
  for (const auto& [rank, known] : tasks_) {
    ranks.push_back(rank);
  }
  events_.on_present(ranks);
}

void TaskTable::on_closed(const std::shared_ptr<Task>& task) {
  if (task->rank < 0) {
    strangers_.erase(task->link.get());
    return;
  }
  // The stage's end is close-on-exec: after kGo this is the program's start. A task that ends
  // instead is seen by its pid.
  if (task->told && !task->started) {
    task->started = true;
    events_.on_started(task->rank);
  }
}

void TaskTable::watch_process(const std::shared_ptr<Task>& task) {
  task->pidfd = Fd(static_cast<int>(syscall(SYS_pidfd_open, task->pid, 0)));
  if (task->pidfd.is_open() &&
      loop_.add(task->pidfd.get(), EPOLLIN, [this, task](uint32_t) { on_ended(task); })) {
    return;
  }
  if (errno == ESRCH) {
    task->poll = loop_.add_timer(milliseconds(0), [this, task] { on_ended(task); });
    return;
  }
  poll_process(task);
}

void TaskTable::poll_process(const std::shared_ptr<Task>& task) {
  task->poll = loop_.add_timer(kProcessPoll, [this, task] {
    if (kill(task->pid, 0) != 0 && errno == ESRCH) {
      on_ended(task);
    } else {
      poll_process(task);
    }
  });
}

void TaskTable::on_ended(const std::shared_ptr<Task>& task) {
  loop_.remove(task->pidfd.get());
  if (std::exchange(task->ended, true)) {
    return;
  }
  ++ended_;
  if (events_.on_ended) {
    events_.on_ended();
  }
  if (!task->told && failed_status_ < 0) {
    events_.on_lost(task->rank, "its process ended before its program was started");
  }
  if (has_ended()) {
    events_.on_all_ended();
  }
}

void TaskTable::go(int rank, const Go& go) {
  const auto found = tasks_.find(rank);
  if (found != tasks_.end()) {
    found->second->told = true;
    found->second->link->send(encode_go(go));
  }
}

void TaskTable::fail_all(int exit_status) {
  failed_status_ = exit_status;
  for (const auto& [rank, task] : tasks_) {
    if (!task->told) {
      task->link->send(encode_number(TaskMessage::kFail, static_cast<uint32_t>(exit_status)));
    }
  }
}

void TaskTable::reported(int rank) {
  release(rank);
}

void TaskTable::release(int rank) {
  if (const auto found = tasks_.find(rank); found != tasks_.end()) {
    found->second->link->send(encode_end());
  }
}

void TaskTable::kill_all() const {
  for (const auto& [rank, task] : tasks_) {
    if (!task->ended) {
      kill(task->pid, SIGKILL);
    }
  }
}

std::map<int, pid_t> TaskTable::pids_by_rank() const {
  std::map<int, pid_t> pids;
  for (const auto& [rank, task] : tasks_) {
    if (!task->ended) {
      pids.emplace(rank, task->pid);
    }
  }
  return pids;
}

std::vector<pid_t> TaskTable::pids() const {
  std::vector<pid_t> pids;
  for (const auto& [rank, task] : tasks_) {
    if (!task->ended) {
      pids.push_back(task->pid);
    }
  }
  return pids;
}

}  // namespace distinit
