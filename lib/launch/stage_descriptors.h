// SPDX-License-Identifier: Apache-2.0
#pragma once
// The two descriptors that a task hands to its stage through slurmstepd's exec, and nothing else
// (lib/spec/protocol.h, "the stage's descriptors").

#include "lib/base/fd.h"

namespace distinit {

/// Opens the stage's file for reading, after checking that it can be executed. Close-on-exec.
Result<Fd> open_stage(const std::string& path);

/// Copies `stage` to the first N from kStageFirstFd on for which N + 1 is free as well, and `agent`
/// to N + 1; neither is close-on-exec. Returns N; both stay open until the exec. The originals are
/// closed.
Result<int> place_stage_descriptors(Fd stage, Fd agent);

}  // namespace distinit
