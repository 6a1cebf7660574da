// SPDX-License-Identifier: Apache-2.0
#pragma once
// NCCL's configuration files: what they set counts as set by the user, although no variable shows
// it.

#include <set>
#include <string>
#include <string_view>

namespace distinit {

/// The names that a file's text sets, as NCCL reads it (NVIDIA/nccl src/misc/param.cc, setEnvFile):
/// lines NAME=VALUE, nothing trimmed, and comments whose first byte is '#'.
std::set<std::string> parse_nccl_conf(std::string_view text);

}  // namespace distinit
