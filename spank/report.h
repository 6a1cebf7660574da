// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the plugin speaks: every line begins with "distinit: ", whatever Slurm puts in front.

#include "lib/base/error.h"
#include "spank/spank_host.h"

namespace distinit {

/// The error and, on a line of its own, its hint.
void report(SpankHost& host, const Error& error);

}  // namespace distinit
