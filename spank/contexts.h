// SPDX-License-Identifier: Apache-2.0
#pragma once
// What each hook does, by the process it runs in. Every function returns what the hook returns: 0,
// or -1 after having reported why. None does anything without --distinit.

#include "spank/spank_host.h"
#include "spank/state.h"

namespace distinit {

/// srun, init_post_opt, once for each component of the step: the SPEC from all places must be
/// right.
int srun_options_known(SpankHost& host, PluginState& state);

/// srun, local_user_init, once: the step exists, nothing has been launched. The SPEC must fit the
/// step's tasks; then the variables for the nodes are set in srun's own environment, which the
/// tasks get.
int srun_step_known(SpankHost& host, PluginState& state);

/// sbatch and salloc, init_post_opt: the SPEC must be right; nothing else is done.
int allocator_options_known(SpankHost& host, PluginState& state);

/// slurmstepd, user_init, before the tasks are forked: makes the node's socket. A failure is kept
/// for task_init.
void node_before_tasks(SpankHost& host, PluginState& state);

/// slurmstepd, task_post_fork: after the last task, gives up its own copy of the socket, so that
/// the agent's end shows as the end of every connection.
void node_task_forked(SpankHost& host, PluginState& state);

/// A task's process, task_init, already the user: local task 0 starts the node's agent, every task
/// says hello to it and gets the stage in front of its program.
int task_before_exec(SpankHost& host, PluginState& state);

/// True for the steps of srun. Batch, extern and interactive steps have ids from 0xfffffffa up.
bool is_srun_step(const SpankHost& host);

}  // namespace distinit
