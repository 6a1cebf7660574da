// SPDX-License-Identifier: Apache-2.0
#pragma once
// --distinit[=SPEC]: what its callback does, and the SPEC that comes out of all the places where
// one can be given.

#include "lib/base/environment.h"
#include "spank/spank_host.h"
#include "spank/state.h"

namespace distinit {

/// The option's callback in srun, sbatch and salloc. The last occurrence counts. Reports its own
/// error; -1 ends the command before anything starts.
int on_option(SpankHost& host, PluginState& state, const char* argument);

/// The option's callback in slurmstepd, where it may come twice and a failure would vanish.
void on_remote_option(PluginState& state);

/// plugstack.conf, then SLURM_DISTINIT, then the option: later over earlier. Errors name the place.
Result<Spec> requested_spec(const PluginState& state, const Environment& environment);

}  // namespace distinit
