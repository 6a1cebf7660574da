// SPDX-License-Identifier: Apache-2.0
#include "lib/base/fd.h"
#include "spank/contexts.h"

#include <sys/prctl.h>

namespace distinit {

namespace {

/// proctrack/linuxproc finds slurmstepd's descendants only. The agent's first parent ends at once,
/// and as init's child the agent would outlive the step, so slurmstepd adopts it. Not under the
/// others: proctrack/pgid waits a minute for a dead child that slurmstepd does not reap (22.05).
bool is_tracked_by_descent() {
  const auto maps = read_file("/proc/self/maps", size_t{64} << 20);
  return maps && maps->find("/proctrack_linuxproc.so") != std::string::npos;
}

}  // namespace

bool is_srun_step(const SpankHost& host) {
  // 0xfffffffa interactive, …fb batch, …fc extern, …fd pending; Slurm counts its special steps
  // down from the top.
  constexpr uint32_t kFirstSpecialStep = 0xfffffff0;
  const auto step = host.item(HostItem::kStepId);
  return step && *step < kFirstSpecialStep;
}

void node_before_tasks(SpankHost& host, PluginState& state) {
  if (!state.requested || !is_srun_step(host)) {
    return;
  }
  if (is_tracked_by_descent()) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  auto socket = open_node_socket();
  if (socket) {
    state.socket = std::move(*socket);
  } else {
    state.node_error = socket.error();
  }
}

void node_task_forked(SpankHost& host, PluginState& state) {
  ++state.tasks_forked;
  // Every task has been forked, with its copy, before the first of these calls.
  if (state.tasks_forked >= host.item(HostItem::kLocalTasks).value_or(1)) {
    state.socket.reset();
  }
}

}  // namespace distinit
