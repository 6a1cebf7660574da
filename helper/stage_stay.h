// SPDX-License-Identifier: Apache-2.0
#pragma once
// For the one task whose process must outlive its program: rank 0 of a step on several nodes,
// because Slurm ends a node's processes, and with them the agent that serves the store, when its
// last task ends.

#include "helper/stage_socket.h"

namespace distinit {

/// Forks; the child goes on with `run_program`, this process stays, deaf to signals (the program
/// gets its own copy), holding nothing of the program's. When the program has ended it tells the
/// agent; after a status of 0 it waits for the agent's word, for go.linger_ms at most. Returns the
/// exit status of the child, or dies by the program's signal.
int stay_as_parent(AgentSocket& agent, const Go& go, char** argv,
                   int (*run_program)(AgentSocket&, const Go&, char**));

}  // namespace distinit
