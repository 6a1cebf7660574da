// SPDX-License-Identifier: Apache-2.0
#pragma once
// The value of `groups=`: group types over several dimensions, such as dp-cp+tp-pp.

#include "lib/spec/spec.h"

#include <string>
#include <string_view>
#include <vector>

namespace distinit {

/// One type as it was written.
struct GroupName {
  std::string name;                     ///< "dp-cp"
  std::vector<std::string> dimensions;  ///< "dp", "cp"

  bool operator==(const GroupName&) const = default;
};

/// Reads the value. kSpec errors: a malformed name, a type of fewer than two dimensions (each
/// dimension has its groups without being asked), one dimension twice in a type, the same set of
/// dimensions twice.
Result<std::vector<GroupName>> parse_group_names(std::string_view value);

/// kSpec error when a type names something that is not one of `dims`; it names the nearest.
Status check_group_names(const std::vector<GroupName>& names, const std::vector<Dimension>& dims);

}  // namespace distinit
