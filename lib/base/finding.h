// SPDX-License-Identifier: Apache-2.0
#pragma once
// Something that works but not as well as it could: a line for the user and what cures it.

#include <string>

namespace distinit {

/// `hint` says which option cures it, and may be empty.
struct Finding {
  std::string what;
  std::string hint;

  bool operator==(const Finding&) const = default;
};

}  // namespace distinit
