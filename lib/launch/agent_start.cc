// SPDX-License-Identifier: Apache-2.0
#include "lib/launch/agent_start.h"

#include "lib/base/fd.h"
#include "lib/base/text.h"
#include "lib/spec/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

namespace distinit {

namespace {

constexpr int kErrnoFd = kAgentReadyFd + 1;

/// What the agent's process needs, made before the fork: after it, only system calls.
struct Prepared {
  const char* helper;
  char** argv;
  char** environment;
  int listener;
  int ready;
  int errno_pipe;
};

void close_from(int first) {
  if (close_range(static_cast<unsigned>(first), ~0U, 0) == 0) {
    return;
  }
  // Kernels before 5.9.
  const long most = sysconf(_SC_OPEN_MAX);
  for (int fd = first; fd < most; ++fd) {
    close(fd);
  }
}

void reset_signals() {
  for (int number = 1; number < NSIG; ++number) {
    signal(number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// 0, or the errno of what failed.
int arrange_descriptors(const Prepared& prepared) {
  // First out of the way of the numbers that they shall get.
  const int listener = fcntl(prepared.listener, F_DUPFD_CLOEXEC, kErrnoFd + 1);
  const int ready = fcntl(prepared.ready, F_DUPFD_CLOEXEC, kErrnoFd + 1);
  const int report = fcntl(prepared.errno_pipe, F_DUPFD_CLOEXEC, kErrnoFd + 1);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (listener < 0 || ready < 0 || report < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
      dup2(null, STDOUT_FILENO) < 0 || dup2(listener, kAgentListenFd) < 0 ||
      dup2(ready, kAgentReadyFd) < 0 || dup3(report, kErrnoFd, O_CLOEXEC) < 0) {
    return errno;
  }
  if (fcntl(STDERR_FILENO, F_GETFD) < 0) {
    dup2(null, STDERR_FILENO);
  }
  close_from(kErrnoFd + 1);
  return 0;
}

[[noreturn]] void become_agent(const Prepared& prepared) {
  const pid_t self = getpid();
  static_cast<void>(!write(prepared.errno_pipe, &self, sizeof self));
  reset_signals();
  int failure = arrange_descriptors(prepared);
  int report = prepared.errno_pipe;
  if (failure == 0) {
    report = kErrnoFd;
    execve(prepared.helper, prepared.argv, prepared.environment);
    failure = errno;
  }
  static_cast<void>(!write(report, &failure, sizeof failure));
  _exit(127);
}

/// Two forks: the first child ends at once, so that the agent is not a child of the program.
Status fork_agent(const Prepared& prepared) {
  const pid_t child = fork();
  if (child < 0) {
    return system_error(ErrorCode::kInternal, "can't fork the agent", errno,
                        "is the limit of processes (ulimit -u) reached?");
  }
  if (child == 0) {
    const pid_t agent = fork();
    if (agent == 0) {
      become_agent(prepared);
    }
    if (agent < 0) {
      const int failure[] = {0, errno};
      static_cast<void>(!write(prepared.errno_pipe, failure, sizeof failure));
    }
    _exit(0);
  }
  // ECHILD, where the task ignores SIGCHLD, is as good.
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return Ok{};
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    out.push_back(text.data());
  }
  out.push_back(nullptr);
  return out;
}

/// Bytes read before `deadline`, 0 at end of file, -1 when the time is over.
int read_in_time(int fd, void* into, size_t size, const Deadline& deadline) {
  while (true) {
    pollfd waiting{fd, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(deadline.remaining().count()));
    if (ready > 0) {
      const ssize_t count = read(fd, into, size);
      return count < 0 ? 0 : static_cast<int>(count);
    }
    if (ready == 0 || errno != EINTR) {
      return -1;
    }
  }
}

Error too_late(const AgentStart& start) {
  return Error{ErrorCode::kInternal,
               concat("the agent (", start.helper, ") was not ready within ",
                      start.longest.count() / 1000, " s"),
               "is the node overloaded, or the file system that holds the helper stuck?", 0};
}

/// Reads the agent's pid, or 0, then the errno of what failed before its exec, if anything did.
Status await_exec(const AgentStart& start, int report_fd, pid_t& agent, const Deadline& deadline) {
  int failure = 0;
  if (read_in_time(report_fd, &agent, sizeof agent, deadline) < 0) {
    return too_late(start);
  }
  switch (read_in_time(report_fd, &failure, sizeof failure, deadline)) {
    case 0:
      return Ok{};
    case sizeof failure:
      return system_error(
          ErrorCode::kInternal, concat("can't run the helper ", start.helper), failure,
          failure == EACCES || failure == ENOENT
              ? "install distinit on this node, or correct helper= in plugstack.conf"
              : "is it the right binary for this node, and is the node healthy?");
    default:
      return too_late(start);
  }
}

Status await_ready(const AgentStart& start, int ready_fd, const Deadline& deadline) {
  char byte = 0;
  switch (read_in_time(ready_fd, &byte, 1, deadline)) {
    case 1:
      return byte == kAgentHasReported ? Status(Error{}) : Status(Ok{});
    case 0:
      return Error{ErrorCode::kInternal,
                   concat("the agent (", start.helper, ") ended before it was ready"),
                   "see above for what it said, and run it on this node: `distinit --version`", 0};
    default:
      return too_late(start);
  }
}

}  // namespace

Status start_agent(const AgentStart& start) {
  const Deadline deadline(start.longest);
  DISTINIT_ASSIGN_OR_RETURN(Pipe ready, make_pipe());
  DISTINIT_ASSIGN_OR_RETURN(Pipe report, make_pipe());
  std::vector<std::string> words = {start.helper, "agent"};
  std::vector<std::string> entries = agent_environment(start.environment);
  std::vector<char*> argv = pointers(words);
  std::vector<char*> environment = pointers(entries);
  DISTINIT_RETURN_IF_ERROR(
      fork_agent(Prepared{start.helper.c_str(), argv.data(), environment.data(), start.listener,
                          ready.write.get(), report.write.get()}));
  ready.write.reset();
  report.write.reset();
  pid_t agent = 0;
  Status status = await_exec(start, report.read.get(), agent, deadline);
  if (status) {
    status = await_ready(start, ready.read.get(), deadline);
  }
  // One that hangs holds the socket, and with it every other task of the node.
  if (!status && agent > 0 && deadline.has_passed()) {
    kill(agent, SIGKILL);
  }
  return status;
}

}  // namespace distinit
