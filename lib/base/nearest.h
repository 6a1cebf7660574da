// SPDX-License-Identifier: Apache-2.0
#pragma once
// "did you mean": the known word nearest to a misspelt one.

#include <string_view>
#include <vector>

namespace distinit {

/// Edits (insert, delete, replace, swap of neighbours) from `a` to `b`. Words longer than 64 bytes
/// are compared by their first 64.
int edit_distance(std::string_view a, std::string_view b);

/// The first of `known` with the smallest distance to `word`, if that is at most a third of the
/// longer of the two, rounded up; empty otherwise.
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace distinit
