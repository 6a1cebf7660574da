// SPDX-License-Identifier: Apache-2.0
#pragma once
// The values of the options about communicators: comms=, check.min_busbw=, check.report=.

#include "lib/spec/spec.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace distinit {

/// "split", "ids" and "preload", '+' between; not both of the first two.
std::optional<CommsOption> parse_comms(std::string_view value);

/// Least bus bandwidth in GB/s: "100" for every group (name ""), or "tp:200+dp:40". Names are those
/// of group types, or "world".
std::optional<std::map<std::string, double, std::less<>>> parse_least_bandwidths(
    std::string_view value);

/// An absolute path of at most 4095 bytes.
bool is_report_path(std::string_view value);

}  // namespace distinit
