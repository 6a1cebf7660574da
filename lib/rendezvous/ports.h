// SPDX-License-Identifier: Apache-2.0
#pragma once
// On which ports the store may be, in the order in which the root tries to bind and the others
// look. Every node computes the same list from the same facts: nothing is published before it is
// bound.

#include "lib/slurm/step.h"
#include "lib/spec/spec.h"

#include <optional>
#include <vector>

namespace distinit {

/// One fixed port where the user named one (`fixed`, from port= or MASTER_PORT); else the step's
/// reserved ports, then the sequence. Never empty, no port twice.
std::vector<int> port_candidates(const StepFacts& facts, const Options& options,
                                 std::optional<int> fixed);

/// Eight different ports in [options.port_low, options.port_high] (fewer where the range has fewer)
/// that depend on job, step and restart count only. The default range is below the kernel's
/// ephemeral ports (32768 and up), and the well-known ports of other launchers in it are left out.
std::vector<int> port_sequence(const StepFacts& facts, const Options& options);

}  // namespace distinit
