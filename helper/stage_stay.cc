// SPDX-License-Identifier: Apache-2.0
#include "helper/stage_stay.h"

#include "lib/base/exit_status.h"
#include "lib/base/log.h"
#include "lib/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace distinit {

namespace {

/// How long the agent may take to pass on that the program has failed before this process ends as
/// well.
constexpr milliseconds kNoticeWait{500};

/// The program's terminal, files and pipes are the program's alone: a reader must see end of file
/// when it ends.
void drop_descriptors(int keep) {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3 && null >= 0; ++fd) {
    dup2(null, fd);
  }
  if (keep > 3) {
    close_range(3, static_cast<unsigned>(keep) - 1, 0);
  }
  close_range(static_cast<unsigned>(keep) + 1, ~0U, 0);
}

/// Ends this process the way the program ended, so that Slurm sees the program's own status.
int end_like(int status) {
  if (!WIFSIGNALED(status)) {
    return WEXITSTATUS(status);
  }
  // The program's core is on disk already; a second one of this process would only mislead.
  const rlimit none{};
  setrlimit(RLIMIT_CORE, &none);
  const int number = WTERMSIG(status);
  signal(number, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  sigprocmask(SIG_UNBLOCK, &one, nullptr);
  raise(number);
  return 128 + number;
}

}  // namespace

int stay_as_parent(AgentSocket& agent, const Go& go, char** argv,
                   int (*run_program)(AgentSocket&, const Go&, char**)) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t self = getpid();
  const pid_t child = fork();
  if (child < 0) {
    const Error error =
        system_error(ErrorCode::kInternal, concat(go.who, ": can't start the program"), errno,
                     "is the limit of processes (ulimit -u) reached?");
    Log().error(error);
    return exit_status(error.code);
  }
  if (child == 0) {
    // Whoever kills the process that Slurm knows means the program.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != self) {
      _exit(kExitInternal);
    }
    setenv("SLURM_TASK_PID", concat(getpid()).c_str(), 1);
    Go for_child = go;
    std::erase_if(for_child.set,
                  [](const std::string& entry) { return entry.starts_with("SLURM_TASK_PID="); });
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return run_program(agent, for_child, argv);
  }
  drop_descriptors(agent.fd());
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      return kExitInternal;
    }
  }
  const bool succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (agent.send(encode_number(TaskMessage::kExited, static_cast<uint32_t>(status)))) {
    // Whatever comes, or the agent's end, is the word to end.
    agent.receive(succeeded ? milliseconds(go.linger_ms) : kNoticeWait);
  }
  return end_like(status);
}

}  // namespace distinit
