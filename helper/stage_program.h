// SPDX-License-Identifier: Apache-2.0
#pragma once
// Finding the user's program as Slurm would, and becoming it.

#include "lib/base/error.h"
#include "lib/spec/protocol.h"

namespace distinit {

/// Applies go's environment, limits and binding to this process and execs argv[0] (go.program in
/// its place where that is not empty), searched in the new PATH as execvp does. Returns only when
/// that failed: kNotFound or kNotExecutable, with the program's name and the reason.
Error execute_program(const Go& go, char** argv);

}  // namespace distinit
