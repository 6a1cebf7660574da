// SPDX-License-Identifier: Apache-2.0
#include "helper/agent_guard.h"

#include "lib/base/exit_status.h"
#include "lib/base/text.h"
#include "lib/rendezvous/member.h"
#include "lib/rendezvous/root.h"

#include <algorithm>
#include <array>
#include <new>
#include <thread>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace distinit {

namespace {

constexpr size_t kMostPids = 4096;
/// How long slurmstepd may take from one process of a step to the next.
constexpr milliseconds kCancelled{200};

Error describe_end(const std::string& node, int status) {
  const std::string how = WIFSIGNALED(status) ? concat("was ended by signal ", WTERMSIG(status),
                                                       " (", strsignal(WTERMSIG(status)), ")")
                                              : concat("ended with status ", WEXITSTATUS(status));
  return Error{ErrorCode::kRendezvous, concat(node, ": the agent ", how, ", so the step is ended"),
               "out of memory, or an administrator? see that node's system log", 0};
}

void tell_root(const Log& log, const StepKey& key, const RendezvousSetup& setup,
               const Error& error) {
  auto loop = EventLoop::create();
  if (!loop) {
    log.error(error);
    return;
  }
  RendezvousEvents events;
  events.on_release = [](const Release&) {};
  events.on_abort = [&loop](int) { loop->stop(); };
  events.on_all_done = [] {};
  const Member notice(*loop, log, key, setup, std::move(events), error);
  loop->run();
}

/// In the dead root's place, on its port: nodes that come late would wait until their deadline.
void tell_late_members(const Log& log, const StepKey& key, const RendezvousSetup& setup,
                       const Error& error) {
  auto loop = EventLoop::create();
  RendezvousEvents events;
  events.on_release = [](const Release&) {};
  events.on_abort = [&loop](int) { loop->stop(); };
  events.on_all_done = [] {};
  auto root = loop ? Root::create(*loop, log, key, setup, std::move(events)) : loop.error();
  if (!root) {
    log.error(error);
    return;
  }
  (*root)->fail(error);
  loop->run();
}

}  // namespace

struct GuardBoard::Shared {
  std::atomic<bool> released{false};
  std::atomic<bool> finished{false};
  std::atomic<size_t> count{0};
  std::array<std::atomic<pid_t>, kMostPids> pids{};
};

Result<std::unique_ptr<GuardBoard>> GuardBoard::create() {
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return system_error(ErrorCode::kInternal, "can't map shared memory", errno);
  }
  return std::unique_ptr<GuardBoard>(new GuardBoard(new (memory) Shared));
}

GuardBoard::~GuardBoard() {
  munmap(shared_, sizeof(Shared));
}

void GuardBoard::set_pids(const std::vector<pid_t>& pids) {
  const size_t count = std::min(pids.size(), kMostPids);
  for (size_t i = 0; i < count; ++i) {
    shared_->pids[i] = pids[i];
  }
  shared_->count = count;
}

void GuardBoard::set_released() {
  shared_->released = true;
}

void GuardBoard::set_finished() {
  shared_->finished = true;
}

std::vector<pid_t> GuardBoard::pids() const {
  std::vector<pid_t> pids;
  for (size_t i = 0; i < shared_->count; ++i) {
    pids.push_back(shared_->pids[i]);
  }
  return pids;
}

bool GuardBoard::is_released() const {
  return shared_->released;
}

bool GuardBoard::is_finished() const {
  return shared_->finished;
}

std::optional<int> become_guard(const Log& log, const StepKey& key, const RendezvousSetup& setup,
                                bool holds_rank0, const GuardBoard& board) {
  // A signal to the step is for the programs. Ours is to stay, both of us, until they have ended.
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  const pid_t worker = fork();
  if (worker == 0) {
    return std::nullopt;
  }
  if (worker < 0) {
    // One process less to start: without a guard the agent does all but survive itself.
    log.warn(concat(setup.facts.node_name, ": can't start the agent's guard: ", strerror(errno)));
    return std::nullopt;
  }
  // The worker has its own copies; ours would keep a dead worker's connections open. stderr stays.
  close_range(3, ~0U, 0);
  int status = 0;
  while (waitpid(worker, &status, 0) < 0) {
    if (errno != EINTR) {
      return kExitInternal;
    }
  }
  if (board.is_finished()) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : kExitOk;
  }
  // Slurm ends a cancelled step by SIGKILL for one process after the other: if this is that, we do
  // not live to say anything.
  std::this_thread::sleep_for(kCancelled);
  const Error error = describe_end(setup.facts.node_name, status);
  if (!holds_rank0) {
    tell_root(log, key, setup, error);
  } else if (board.is_released()) {
    log.error(error);
  } else {
    tell_late_members(log, key, setup, error);
  }
  for (const pid_t pid : board.pids()) {
    kill(pid, SIGKILL);
  }
  return kExitRendezvous;
}

}  // namespace distinit
