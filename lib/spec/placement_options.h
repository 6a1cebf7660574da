// SPDX-License-Identifier: Apache-2.0
#pragma once
// The values of the options about a task's place on its node: bind=, topology=, hca.skip=, nccl.*.

#include "lib/spec/spec.h"

#include <string_view>

namespace distinit {

constexpr std::string_view kNcclPrefix = "nccl.";

/// "all", "none", or parts with '+' between: cpu, gpu, hca, memory. Only those that are named. The
/// kSpec error names the part that is wrong and the nearest right one.
Result<BindOption> parse_bind(std::string_view value);

/// An absolute path of at most 4095 bytes in which '%' stands only as "%n".
bool is_topology_path(std::string_view value);

/// Names of HCAs ("mlx5_0") or of ports ("mlx5_0:1"), '+' between.
bool is_hca_list(std::string_view value);

/// The NAME in nccl.NAME: upper-case letters, digits and '_'.
bool is_variable_name(std::string_view name);

}  // namespace distinit
