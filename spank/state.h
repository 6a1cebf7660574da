// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the plugin remembers from one hook to the next, in one process. hooks.cc owns the only one;
// a task's child of slurmstepd has its own copy from the fork.

#include "lib/launch/node_socket.h"
#include "spank/plugstack.h"

#include <optional>

namespace distinit {

struct PluginState {
  Plugstack plugstack;

  /// --distinit was given: on the command line, or to the sbatch or salloc around.
  bool requested = false;
  /// Its SPEC, the last one given; nullopt for a bare --distinit.
  std::optional<Spec> spec;
  /// Components of the step, counted in srun.
  int components = 0;
  /// srun runs in an allocation that goes on after it.
  bool in_allocation = false;

  /// The socket that the tasks of this node connect to, in slurmstepd.
  std::optional<NodeSocket> socket;
  /// Why there is none. A failure before task_init drains nodes or vanishes, so it waits.
  std::optional<Error> node_error;
  uint32_t tasks_forked = 0;
  /// This task has its stage in front already: the plugin stands twice in plugstack.conf.
  bool active = false;
};

}  // namespace distinit
