// SPDX-License-Identifier: Apache-2.0
#include "lib/base/environment.h"
#include "lib/base/text.h"
#include "lib/launch/agent_start.h"
#include "lib/launch/stage_descriptors.h"
#include "lib/spec/protocol.h"
#include "spank/contexts.h"
#include "spank/launch.h"
#include "spank/report.h"

#include <errno.h>
#include <sys/socket.h>

namespace distinit {

namespace {

Error unusable(std::string what, std::string hint) {
  return Error{ErrorCode::kInternal, std::move(what), std::move(hint), 0};
}

/// The variables that srun's half of the plugin must have set, for this very step. Of a het step,
/// srun knows the step's number too late for all components but one.
Status check_srun_was_here(const Environment& environment) {
  const std::string minted_for = environment.get_or(kStepVariable, "");
  const bool may_lack_step = environment.has("SLURM_HET_SIZE");
  if (!environment.has(kSpecVariable) || !environment.has(kSecretVariable) ||
      (minted_for.empty() && !may_lack_step)) {
    return unusable("srun had no distinit plugin",
                    "plugstack.conf must have the distinit line where srun runs as well");
  }
  const std::string this_step =
      concat(environment.get_or("SLURM_JOB_ID", ""), '.', environment.get_or("SLURM_STEP_ID", ""));
  if (!minted_for.empty() && minted_for != this_step) {
    return unusable(
        concat(kStepVariable, "=", abbreviate(minted_for), " but this is step ", this_step),
        "they came from an outer step, and srun had no distinit plugin: plugstack.conf must have "
        "the distinit line where srun runs as well");
  }
  return Ok{};
}

Status check_site(const Plugstack& plugstack) {
  if (plugstack.helper.empty()) {
    return unusable("plugstack.conf has no helper=PATH",
                    "add helper=/usr/bin/distinit, where it is installed, to the distinit line");
  }
  return Ok{};
}

Result<int> read_rank(const Environment& environment, std::string_view name) {
  const std::string value = environment.get_or(name, "");
  const auto number = parse_number(value, 0, INT32_MAX);
  if (!number) {
    return unusable(concat(name, "='", abbreviate(value), "' is not a rank"),
                    "Slurm sets it; what removed it, a task plugin or a prolog?");
  }
  return static_cast<int>(*number);
}

Status say_hello(int agent, const Environment& environment, std::string program) {
  Hello hello;
  DISTINIT_ASSIGN_OR_RETURN(hello.rank, read_rank(environment, "SLURM_PROCID"));
  DISTINIT_ASSIGN_OR_RETURN(hello.local_rank, read_rank(environment, "SLURM_LOCALID"));
  hello.program = std::move(program);
  for (const std::string_view name : kPerTaskVariables) {
    if (const auto value = environment.get(name)) {
      hello.environment.push_back(concat(name, '=', *value));
    }
  }
  const std::string frame = encode_hello(hello);
  const ssize_t sent = send(agent, frame.data(), frame.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(frame.size())) {
    return system_error(ErrorCode::kInternal, "can't greet the node's agent",
                        sent < 0 ? errno : EMSGSIZE, "has the agent been killed?");
  }
  return Ok{};
}

/// Everything that can fail, in the order in which it becomes expensive.
Status launch(SpankHost& host, PluginState& state, bool starts_agent) {
  const Environment environment(host.environment());
  DISTINIT_RETURN_IF_ERROR(check_site(state.plugstack));
  DISTINIT_RETURN_IF_ERROR(check_srun_was_here(environment));
  if (!state.socket) {
    return state.node_error.value_or(
        unusable("the node's socket was never made", "see slurmd's log on this node"));
  }
  DISTINIT_ASSIGN_OR_RETURN(Fd stage, open_stage(state.plugstack.stage));
  // Connected before the agent is there: the kernel keeps the connection for it.
  DISTINIT_ASSIGN_OR_RETURN(Fd agent, connect_node_socket(*state.socket));
  if (starts_agent) {
    AgentStart start;
    start.helper = state.plugstack.helper;
    start.environment = environment.entries();
    start.listener = state.socket->listener.get();
    DISTINIT_RETURN_IF_ERROR(start_agent(start));
  }
  state.socket.reset();
  DISTINIT_ASSIGN_OR_RETURN(const int stage_fd,
                            place_stage_descriptors(std::move(stage), std::move(agent)));
  DISTINIT_ASSIGN_OR_RETURN(std::string program,
                            put_stage_in_front(host, concat(kStagePathPrefix, stage_fd)));
  return say_hello(stage_fd + 1, environment, std::move(program));
}

}  // namespace

int task_before_exec(SpankHost& host, PluginState& state) {
  // The order is fixed: not remote, not our kind of step, not requested, already active.
  if (host.context() != HostContext::kStepd) {
    return 0;
  }
  if (!is_srun_step(host)) {
    return 0;
  }
  if (!state.requested) {
    return 0;
  }
  if (state.active) {
    return 0;
  }
  state.active = true;
  const bool is_first = host.item(HostItem::kLocalTaskId).value_or(0) == 0;
  const Status launched = launch(host, state, is_first);
  if (launched) {
    return 0;
  }
  // What fails on a node mostly fails in each of its tasks: one speaks for all. An agent that could
  // not start has mostly said why itself.
  if (is_first && !launched.error().what.empty()) {
    const std::string node = Environment(host.environment()).get_or("SLURMD_NODENAME", "this node");
    report(host, with_context(launched.error(), node));
  }
  return -1;
}

}  // namespace distinit
