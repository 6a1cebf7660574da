// SPDX-License-Identifier: Apache-2.0
#pragma once
// Slurm's host list expressions, "a[01-03,7]b[0-1]-ib,c": from text to names in Slurm's own order,
// and back to a short text for messages.
// Source: Slurm src/common/hostlist.c; results checked on 22.05.8, text after the last bracket as
// 23.11 reads it.

#include "lib/base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace distinit {

/// Limits of expand_hostlist. A range's is Slurm's own (MAX_RANGE).
constexpr size_t kLongestHostlist = size_t{1} << 20;
constexpr size_t kLongestHostName = 255;
constexpr long long kMostHostsInRange = 65536;
constexpr long long kMostHosts = 1 << 20;

/// The names, in order, nothing sorted and nothing removed. Padding is the low bound's width. The
/// last bracket varies fastest; of the others the first is the next fastest, so with three brackets
/// the second varies slowest, as in Slurm. An empty text gives an empty list. kUsage errors name
/// the piece that cannot be read, or the limit that it passes.
Result<std::vector<std::string>> expand_hostlist(std::string_view text);

/// Neighbours that differ in their trailing number alone are put together: "n[1-3,7],m1". Order is
/// kept, and expand_hostlist gives the same names back.
std::string compress_hostlist(const std::vector<std::string>& names);

}  // namespace distinit
