// SPDX-License-Identifier: Apache-2.0
// distinit-check: one rank's part of the check, in a process of its own that exits: NCCL leaves
// sockets, threads and limits in every process that it was used in. Started by the stage, with the
// program's environment.

#include "lib/base/fd.h"
#include "lib/base/text.h"
#include "lib/nccl/check_run.h"

#include <atomic>
#include <thread>

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

namespace distinit {

namespace {

/// A call of the library that has not come back this long after the deadline never will.
constexpr milliseconds kStuck{3000};

/// Writes the result once and ends the process, whatever other threads do.
[[noreturn]] void finish(int fd, const CheckResult& result) {
  static std::atomic_flag done = ATOMIC_FLAG_INIT;
  while (done.test_and_set()) {
    std::this_thread::sleep_for(milliseconds(1000));
  }
  static_cast<void>(write_all(fd, encode_check_result(result)).has_value());
  // Not exit: the library's own handlers may wait for peers that are gone.
  _exit(0);
}

int run(int argc, char** argv) {
  const auto fd = argc == 2 ? parse_number(argv[1], 3, 1 << 20) : std::nullopt;
  if (!fd) {
    fputs("distinit-check is started by distinit's stage: use check=on, or `distinit check`\n",
          stderr);
    return 2;
  }
  const int result_fd = static_cast<int>(*fd);
  static_cast<void>(set_close_on_exec(result_fd, true).has_value());
  const int log_fd = memfd_create("nccl-log", MFD_CLOEXEC);
  CheckRun check(Environment(environ), log_fd);
  // Before the library is loaded: it reads them once.
  if (log_fd >= 0) {
    setenv("NCCL_DEBUG", "INFO", 1);
    setenv("NCCL_DEBUG_FILE", concat("/proc/self/fd/", log_fd).c_str(), 1);
    unsetenv("NCCL_DEBUG_SUBSYS");
  }
  std::thread([&check, result_fd] {
    std::this_thread::sleep_for(check.longest() + kStuck);
    finish(result_fd, check.stuck());
  }).detach();
  finish(result_fd, check.run());
}

}  // namespace

}  // namespace distinit

int main(int argc, char** argv) {
  return distinit::run(argc, argv);
}
