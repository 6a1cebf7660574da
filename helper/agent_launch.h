// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one task is told when the step is released: its environment, its limits, whether it stays.

#include "helper/agent_setup.h"
#include "helper/node_placement.h"
#include "lib/rendezvous/messages.h"
#include "lib/spec/layout.h"
#include "lib/spec/protocol.h"

#include <string>
#include <vector>

namespace distinit {

struct Launch {
  Go go;
  std::vector<Finding> findings;  ///< of rank 0: the user's settings are the same for all
  std::vector<std::string> ours;  ///< of rank 0: "NAME=value", for DISTINIT_LOG=info
  std::vector<std::string> kept;  ///< the user's own settings that won
};

/// `placement`: null where the node was not looked at.
Launch prepare_launch(const AgentSetup& setup, const Hello& hello, const Release& release,
                      const NodePlacement* placement);

}  // namespace distinit
