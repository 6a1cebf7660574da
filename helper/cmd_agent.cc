// SPDX-License-Identifier: Apache-2.0
// `distinit agent`: started by the plugin or by `distinit exec`, never by hand.

#include "helper/agent.h"
#include "helper/command.h"
#include "lib/base/exit_status.h"
#include "lib/base/text.h"
#include "lib/spec/protocol.h"

#include <algorithm>

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

extern char** environ;

namespace distinit {

namespace {

bool is_listening_socket(int fd) {
  int listening = 0;
  socklen_t size = sizeof listening;
  return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0 && listening != 0;
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

/// Without descriptors connections are not answered, which looks like anything but that: said
/// beforehand.
void check_descriptor_limit(const Log& log, const StepFacts& facts, bool is_root) {
  constexpr size_t kOwn = 16;
  // A task's socket and its pidfd; a client of torch's older kinds connects twice.
  size_t most = kOwn + 2 * facts.node_ranks.size();
  if (is_root) {
    most += static_cast<size_t>(facts.node_count) + 2 * static_cast<size_t>(facts.world_size);
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < most) {
    log.warn(concat(facts.node_name, ": the agent may open ", limit.rlim_cur,
                    " files, and a step of this size can take ", most),
             "raise the hard limit on that node (ulimit -Hn, LimitNOFILE= of slurmd)");
  }
}

void say_ready() {
  Fd ready(kAgentReadyFd);
  static_cast<void>(write_all(ready.get(), "+").has_value());
}

bool holds_rank0(const std::vector<int>& ranks) {
  return std::find(ranks.begin(), ranks.end(), 0) != ranks.end();
}

/// What can be known to be wrong before anybody has been met ends the tasks here, with the right
/// status.
int fail_tasks(Log& log, Fd listening, const Error& error) {
  const auto facts = read_step_facts(task_environment(Environment(environ)));
  const std::vector<int> ranks = facts ? facts->node_ranks : std::vector<int>();
  // Every node finds the same: rank 0's speaks.
  if (ranks.empty() || holds_rank0(ranks)) {
    log.error(error);
  }
  auto loop = EventLoop::create();
  if (!loop) {
    return kExitInternal;
  }
  const int status = exit_status(error.code);
  TaskTable::Events events;
  events.on_all_ended = [&loop] { loop->stop(); };
  TaskTable tasks(*loop, std::move(listening), ranks, milliseconds(60'000), std::move(events));
  tasks.fail_all(status);
  if (!tasks.start()) {
    return kExitInternal;
  }
  loop->add_timer(milliseconds(5000), [&loop] { loop->stop(); });
  loop->run();
  return status;
}

int run(int, char**) {
  if (!is_listening_socket(kAgentListenFd)) {
    Log().error(Error{ErrorCode::kUsage, "`distinit agent` can't be started by hand",
                      "use `srun --distinit=SPEC PROGRAM` or `srun distinit exec`", 0});
    return kExitUsage;
  }
  Fd listening(kAgentListenFd);
  say_ready();
  raise_descriptor_limit();
  Log log;
  auto setup = read_agent_setup(Environment(environ));
  if (!setup) {
    return fail_tasks(log, std::move(listening), setup.error());
  }
  log = Log(STDERR_FILENO, setup->log_filter);
  const RendezvousSetup& rendezvous = setup->rendezvous;
  const auto key = StepKey::create(setup->secret, step_text(rendezvous.facts));
  if (!key) {
    return fail_tasks(log, std::move(listening), key.error());
  }
  const bool is_root = holds_rank0(rendezvous.facts.node_ranks);
  check_descriptor_limit(log, rendezvous.facts, is_root);
  auto board = GuardBoard::create();
  if (!board) {
    return fail_tasks(log, std::move(listening), board.error());
  }
  if (const auto status = become_guard(log, *key, rendezvous, is_root, **board)) {
    // No destructors: the worker has closed and freed its own.
    _exit(*status);
  }
  auto loop = EventLoop::create();
  if (!loop) {
    return fail_tasks(log, std::move(listening), loop.error());
  }
  int status = 0;
  {
    Agent agent(*loop, log, *key, *setup, **board, std::move(listening));
    status = agent.run();
  }
  // A name lookup in another thread may still be under way: it ends with the process.
  _exit(status);
}

const CommandRegistration kRegistration{Command{"agent", "", run}};

}  // namespace

}  // namespace distinit
