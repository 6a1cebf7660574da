// SPDX-License-Identifier: Apache-2.0
// The plugin as Slurm sees it: its identity, and one adapter for each hook. No exception leaves
// here: one that did would end slurmstepd without a word. This file alone is compiled with them.

#include "spank/contexts.h"
#include "spank/options.h"
#include "spank/report.h"

#include <new>

extern "C" {
#include <slurm/spank.h>
}

#define DISTINIT_EXPORT extern "C" __attribute__((visibility("default")))

// SPANK_PLUGIN() of spank.h would give them internal linkage in C++.
DISTINIT_EXPORT const char plugin_name[];
DISTINIT_EXPORT const char plugin_type[];
DISTINIT_EXPORT const unsigned int plugin_version;
DISTINIT_EXPORT const unsigned int spank_plugin_version;
const char plugin_name[] = "distinit";
const char plugin_type[] = "spank";
const unsigned int plugin_version = SLURM_VERSION_NUMBER;
const unsigned int spank_plugin_version = 1;

namespace distinit {

namespace {

// A pointer, so that nothing is constructed or destroyed when Slurm loads and unloads the plugin.
PluginState* current = nullptr;

void forget() {
  delete current;
  current = nullptr;
}

/// Runs `body` if there is a state; on an exception says so and returns `otherwise`.
template <typename Body>
int guarded(spank_t handle, int otherwise, Body body) noexcept {
  try {
    if (current == nullptr) {
      return 0;
    }
    SlurmHost host(handle);
    return body(host, *current);
  } catch (...) {
    slurm_error("distinit: out of memory in the plugin");
    return otherwise;
  }
}

/// -1 where failing is right: with --distinit alone.
int failure() {
  return current != nullptr && current->requested ? -1 : 0;
}

int option_callback(int, const char* argument, int remote) noexcept {
  return guarded(nullptr, remote != 0 ? 0 : -1, [&](SpankHost& host, PluginState& state) {
    if (remote != 0) {
      on_remote_option(state);
      return 0;
    }
    return on_option(host, state, argument);
  });
}

void start(SpankHost& host, int argc, char** argv) {
  forget();
  current = new PluginState;
  current->plugstack = read_plugstack(argc, argv);
  if (host.context() == HostContext::kSlurmd) {
    if (current->plugstack.error) {
      report(host, *current->plugstack.error);
    }
    return;
  }
  if (!host.register_option(option_callback)) {
    host.info("distinit: Slurm did not take the option --distinit");
  }
}

}  // namespace

}  // namespace distinit

DISTINIT_EXPORT int slurm_spank_init(spank_t handle, int argc, char** argv) {
  try {
    distinit::SlurmHost host(handle);
    distinit::start(host, argc, argv);
  } catch (...) {
    distinit::forget();
  }
  // A required plugin that fails here breaks every job of the cluster, with --distinit or without.
  return 0;
}

DISTINIT_EXPORT int slurm_spank_init_post_opt(spank_t handle, int, char**) {
  using namespace distinit;
  return guarded(handle, failure(), [](SpankHost& host, PluginState& state) {
    switch (host.context()) {
      case HostContext::kSrun:
        return srun_options_known(host, state);
      case HostContext::kAllocator:
        return allocator_options_known(host, state);
      default:
        return 0;
    }
  });
}

DISTINIT_EXPORT int slurm_spank_local_user_init(spank_t handle, int, char**) {
  using namespace distinit;
  return guarded(handle, failure(), srun_step_known);
}

DISTINIT_EXPORT int slurm_spank_user_init(spank_t handle, int, char**) {
  using namespace distinit;
  return guarded(handle, 0, [](SpankHost& host, PluginState& state) {
    node_before_tasks(host, state);
    return 0;
  });
}

DISTINIT_EXPORT int slurm_spank_task_post_fork(spank_t handle, int, char**) {
  using namespace distinit;
  return guarded(handle, 0, [](SpankHost& host, PluginState& state) {
    node_task_forked(host, state);
    return 0;
  });
}

DISTINIT_EXPORT int slurm_spank_task_init(spank_t handle, int, char**) {
  using namespace distinit;
  return guarded(handle, failure(), task_before_exec);
}

DISTINIT_EXPORT int slurm_spank_exit(spank_t, int, char**) {
  distinit::forget();
  return 0;
}
