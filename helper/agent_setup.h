// SPDX-License-Identifier: Apache-2.0
#pragma once
// All that an agent knows before it talks to anybody, read once from its environment.

#include "lib/base/environment.h"
#include "lib/rendezvous/rendezvous.h"

#include <set>
#include <string>

namespace distinit {

struct AgentSetup {
  RendezvousSetup rendezvous;
  std::string secret;
  Environment task_environment;  ///< local task 0's, as it was before any container
  LogFilter log_filter;
  std::set<std::string> nccl_conf;  ///< what NCCL's own files on this node set
};

/// "JOB.STEP.RESTART".
std::string step_text(const StepFacts& facts);

/// Undoes agent_environment(): the task's variables under their own names.
Environment task_environment(const Environment& agent_environment);

/// Errors name the variable, or the sizes that do not fit.
Result<AgentSetup> read_agent_setup(const Environment& agent_environment);

}  // namespace distinit
