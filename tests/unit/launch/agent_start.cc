// SPDX-License-Identifier: Apache-2.0
#include "lib/launch/agent_start.h"

#include "lib/base/fd.h"
#include "lib/base/text.h"
#include "tests/unit/scratch.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace distinit {

Test(agent_start, an_agent_that_hangs_is_killed_and_reported) {
  const std::string folder = make_scratch_folder("distinit-launch");
  cr_assert(!folder.empty());
  const std::string script = concat(folder, "/fake-agent");
  const std::string pid_file = concat(folder, "/pid");
  {
    const Fd file(open(script.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0755));
    write_all(file.get(), concat("#!/bin/sh\necho $$ > ", pid_file, "; exec sleep 60\n")).value();
  }
  AgentStart start;
  start.helper = script;
  start.environment = {"PATH=/usr/bin:/bin"};
  start.listener = STDIN_FILENO;
  start.longest = milliseconds(1000);
  const Deadline deadline(milliseconds(5000));
  const Status started = start_agent(start);
  const auto seen = read_file(pid_file, 100);
  unlink(script.c_str());
  unlink(pid_file.c_str());
  rmdir(folder.c_str());
  cr_assert(!started.has_value() && !deadline.has_passed());
  cr_assert(started.error().what == concat("the agent (", script, ") was not ready within 1 s"),
            "%s", started.error().what.c_str());
  cr_assert(seen.has_value(), "the agent has started");
  const auto pid = parse_number(split(*seen, '\n')[0], 2, INT32_MAX);
  cr_assert(pid.has_value());
  // The signal has been sent; its end, which a pidfd shows, comes a moment later.
  const Fd process(static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(*pid), 0)));
  pollfd ended{process.get(), POLLIN, 0};
  cr_assert(!process.is_open() || poll(&ended, 1, 5000) == 1, "still running");
}

}  // namespace distinit
