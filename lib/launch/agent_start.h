// SPDX-License-Identifier: Apache-2.0
#pragma once
// Starting the node's agent from local task 0, so that it is the user's, in the step's session and
// process group (where every process tracking finds it), and nobody's child in the program's eyes.

#include "lib/base/deadline.h"
#include "lib/base/result.h"

#include <string>
#include <vector>

namespace distinit {

struct AgentStart {
  std::string helper;                    ///< absolute path of `distinit`
  std::vector<std::string> environment;  ///< the task's; LD_* are renamed here
  int listener = -1;                     ///< becomes the agent's descriptor 3
  milliseconds longest{10'000};          ///< until it must have said that it is ready
};

/// Runs `HELPER agent` and returns when it is ready (lib/spec/protocol.h, "starting the agent").
/// An Error with an empty `what` says that the agent has told the user itself.
Status start_agent(const AgentStart& start);

}  // namespace distinit
