// SPDX-License-Identifier: Apache-2.0
// The stage: the last thing in a task before the user's program. It waits for the agent's word,
// applies environment and limits, and execs: same pid, same signals, same terminal. Linked
// statically, and reached through an inherited descriptor, because it may run inside a container's
// root.

#include "helper/stage_program.h"
#include "helper/stage_socket.h"
#include "helper/stage_stay.h"
#include "lib/base/exit_status.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/spec/protocol.h"

#include <thread>

#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace distinit {

namespace {

/// Until the agent has said how long: it answers within milliseconds of accepting.
constexpr milliseconds kFirstWait{60'000};
/// A guard needs no longer to tell the other nodes; then it ends this process.
constexpr milliseconds kGuardLimit{7000};

int fail(const Error& error) {
  Log().error(error);
  return exit_status(error.code);
}

/// One that never came is reported by the plugin that could not start it. An agent that is gone has
/// a guard which says so, and which lives no longer than this node's tasks. One that is there and
/// silent has nobody else, nor has rank 0's where the guard is gone.
int agent_lost(const AgentSocket& agent, milliseconds waited, bool has_spoken) {
  const char* node = getenv("SLURMD_NODENAME");
  const char* rank = getenv("SLURM_PROCID");
  const std::string who =
      concat("rank ", rank == nullptr ? "?" : rank, " on ", node == nullptr ? "?" : node, ": ");
  if (agent.timed_out()) {
    return fail(
        Error{ErrorCode::kRendezvous,
              concat(who, "no word from this node's agent for ", waited.count() / 1000, " s"),
              "is it stopped, or the node out of memory?", 0});
  }
  if (!has_spoken) {
    return kExitRendezvous;
  }
  std::this_thread::sleep_for(kGuardLimit);
  if (rank != nullptr && std::string_view(rank) == "0") {
    return fail(Error{ErrorCode::kRendezvous,
                      concat(who, "this node's agent and its guard have been killed"),
                      "out of memory, or an administrator? see that node's system log", 0});
  }
  return kExitRendezvous;
}

Error unknown_message() {
  return Error{ErrorCode::kInternal, "the agent sent a message of an unknown kind",
               "plugin, helper and stage must be of one release", 0};
}

int run_program(AgentSocket& agent, const Go& go, char** argv) {
  const Error error = execute_program(go, argv);
  return agent.report(Report{error.what, error.hint}) ? exit_status(error.code) : fail(error);
}

int run(int argc, char** argv) {
  const int own_fd = stage_fd_from_path(argc > 0 ? argv[0] : "");
  if (own_fd < 0) {
    return fail(Error{ErrorCode::kUsage, "distinit-stage can't be started by hand",
                      "use `srun --distinit=SPEC PROGRAM` or `srun distinit exec`", 0});
  }
  static_cast<void>(set_close_on_exec(own_fd, true).has_value());
  // The kernel has named it after its file, "700"; the program's exec gives its own name.
  prctl(PR_SET_NAME, "distinit-stage");
  AgentSocket agent{Fd(own_fd + 1)};
  milliseconds wait = kFirstWait;
  bool has_spoken = false;
  while (true) {
    const std::optional<std::string> message = agent.receive(wait);
    if (!message) {
      return agent.is_malformed() ? fail(unknown_message()) : agent_lost(agent, wait, has_spoken);
    }
    has_spoken = true;
    switch (static_cast<TaskMessage>(message_kind(*message))) {
      case TaskMessage::kWait:
        if (const auto longest = decode_number(TaskMessage::kWait, *message)) {
          wait = milliseconds(*longest);
        }
        break;
      case TaskMessage::kFail: {
        const auto status = decode_number(TaskMessage::kFail, *message);
        return status ? static_cast<int>(*status) : kExitInternal;
      }
      case TaskMessage::kGo: {
        const auto go = decode_go(*message);
        if (!go) {
          return fail(go.error());
        }
        char** program_argv = argv;
        if (go->program.empty()) {
          ++program_argv;
        }
        return go->stay ? stay_as_parent(agent, *go, program_argv, run_program)
                        : run_program(agent, *go, program_argv);
      }
      default:
        return fail(unknown_message());
    }
  }
}

}  // namespace

}  // namespace distinit

int main(int argc, char** argv) {
  return distinit::run(argc, argv);
}
