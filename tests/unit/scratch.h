// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where tests put files: below $TMPDIR, which tests/run_units makes and removes, so that a test
// that fails half way leaves nothing either.

#include <string>

#include <stdlib.h>

namespace distinit {

inline std::string scratch_root() {
  const char* set = getenv("TMPDIR");
  return set == nullptr ? "/tmp" : set;
}

/// A fresh folder with this in its name; empty when it can't be made.
inline std::string make_scratch_folder(const std::string& name) {
  std::string path = scratch_root() + "/" + name + "-XXXXXX";
  return mkdtemp(path.data()) == nullptr ? std::string() : path;
}

}  // namespace distinit
