// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where NCCL's configuration files are (NVIDIA/nccl src/misc/param.cc).

#include "lib/base/environment.h"

#include <set>
#include <string>

namespace distinit {

/// The variables that NCCL would take from its files in a program with this environment: from
/// NCCL_CONF_FILE where that is set and not empty, else ~/.nccl.conf, and from `system_file`. Files
/// that are missing, unreadable, no regular files, or longer than 1 MiB set nothing.
std::set<std::string> nccl_conf_names(const Environment& environment,
                                      const std::string& system_file = "/etc/nccl.conf");

}  // namespace distinit
