// SPDX-License-Identifier: Apache-2.0
#pragma once
// Getting the stage in front of a task's program. Slurm has a call for it from 23.11 on
// (launch_prepend.cc); before that, argv[0] is replaced (launch_argv0.cc). The Makefile takes the
// one that fits the Slurm it builds for.

#include "lib/base/result.h"
#include "spank/spank_host.h"

#include <string>

namespace distinit {

/// Whether this way reaches the argv of a task of `srun --multi-prog`.
extern const bool kLaunchesMultiProg;

/// Makes slurmstepd exec `stage_path` instead of the program, with the program's arguments. Returns
/// the program as argv[0] had it where that was replaced; empty where all of argv now follows the
/// stage.
Result<std::string> put_stage_in_front(SpankHost& host, const std::string& stage_path);

}  // namespace distinit
