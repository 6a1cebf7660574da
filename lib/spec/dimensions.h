// SPDX-License-Identifier: Apache-2.0
#pragma once
// Names of mesh dimensions: the table of known ones, and reading `tp8` or `dp`.

#include "lib/spec/spec.h"

#include <span>
#include <string_view>

namespace distinit {

/// A name that people know. Any other lower-case name works as well, unless it is one letter away
/// from one of these.
struct DimensionHelp {
  std::string_view name;
  std::string_view summary;
};

/// In the order in which they are offered.
std::span<const DimensionHelp> known_dimensions();

constexpr int kLargestDimension = 1'000'000;
/// More than anybody nests; keeps products and messages short.
constexpr size_t kMostDimensions = 16;
constexpr size_t kLongestDimensionName = 31;

/// True for lower-case letters with '_' between them, at most kLongestDimensionName of them.
bool is_dimension_name(std::string_view name);

/// Reads one item without '='. kSpec errors name the item and what was probably meant.
Result<Dimension> parse_dimension(std::string_view item);

/// "tp8", or "dp" where the size is left open.
std::string format_dimension(const Dimension& dimension);

}  // namespace distinit
