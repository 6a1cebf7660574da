// SPDX-License-Identifier: Apache-2.0
#pragma once
// Our arguments in plugstack.conf: helper=PATH, stage=PATH, spec=SPEC, and every option of the
// SPEC language. Slurm splits the line at blanks and knows no quotes.

#include "lib/base/error.h"
#include "lib/spec/spec.h"

#include <optional>
#include <string>

namespace distinit {

struct Plugstack {
  std::string helper;  ///< absolute path of `distinit` on the nodes; empty where not given
  std::string stage;   ///< of `distinit-stage`; beside the helper where not given
  Spec defaults;       ///< what spec= and the options say together, later over earlier
  /// The first argument that is wrong. It matters to those only who use --distinit.
  std::optional<Error> error;
};

/// Reads the arguments as Slurm hands them to a hook. Goes on after a wrong one.
Plugstack read_plugstack(int argc, char** argv);

}  // namespace distinit
