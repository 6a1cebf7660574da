// SPDX-License-Identifier: Apache-2.0
#pragma once
// What one task is told when the step is released: its environment, its limits, whether it stays.

#include "helper/agent_setup.h"
#include "lib/rendezvous/messages.h"
#include "lib/spec/layout.h"
#include "lib/spec/protocol.h"

#include <string>
#include <vector>

namespace distinit {

struct Launch {
  Go go;
  std::vector<Finding>
      findings;  ///< of this rank; those that all ranks share come from rank 0 only
  std::vector<std::string> sources;  ///< "NAME=value (where from)" for DISTINIT_LOG=info
};

Launch prepare_launch(const AgentSetup& setup, const Hello& hello, const Release& release);

}  // namespace distinit
