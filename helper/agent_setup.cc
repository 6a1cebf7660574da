// SPDX-License-Identifier: Apache-2.0
#include "helper/agent_setup.h"

#include "helper/nccl_conf_files.h"
#include "lib/base/text.h"
#include "lib/env/assignment.h"
#include "lib/spec/protocol.h"

#include <utility>

#include <stdint.h>

namespace distinit {

std::string step_text(const StepFacts& facts) {
  return concat(facts.job_id, '.', facts.step_id, '.', facts.restart_count);
}

Environment task_environment(const Environment& agent_environment) {
  Environment out;
  for (const auto& [name, value] : agent_environment.values()) {
    const bool saved = name.starts_with(kSavedPrefix);
    out.set(saved ? std::string_view(name).substr(kSavedPrefix.size()) : name, value);
  }
  return out;
}

Result<AgentSetup> read_agent_setup(const Environment& agent_environment) {
  AgentSetup setup;
  setup.task_environment = task_environment(agent_environment);
  const Environment& environment = setup.task_environment;
  DISTINIT_ASSIGN_OR_RETURN(setup.log_filter,
                            parse_log_filter(environment.get_or("DISTINIT_LOG", "")));
  RendezvousSetup& rendezvous = setup.rendezvous;
  DISTINIT_ASSIGN_OR_RETURN(rendezvous.facts, read_step_facts(environment));
  DISTINIT_ASSIGN_OR_RETURN(rendezvous.spec, parse_spec(environment.get_or(kSpecVariable, "dp")));
  rendezvous.options = typed_options(rendezvous.spec);
  DISTINIT_ASSIGN_OR_RETURN(rendezvous.mesh,
                            resolve_mesh(rendezvous.spec, rendezvous.facts.world_size));
  const UserEndpoint user = user_endpoint(environment);
  rendezvous.user_addr = user.addr;
  rendezvous.user_port = user.port;
  rendezvous.root_node = environment.get_or(kRootNodeVariable, "");
  rendezvous.root_address = environment.get_or(kRootAddressVariable, "");
  if (const int index = root_node_index(rendezvous.facts);
      rendezvous.root_node.empty() && index >= 0) {
    rendezvous.root_node = rendezvous.facts.nodes[static_cast<size_t>(index)];
  }
  rendezvous.start_time_ns =
      parse_number(environment.get_or(kStartTimeVariable, ""), 0, INT64_MAX).value_or(0);
  rendezvous.version = DISTINIT_VERSION;
  setup.nccl_conf = nccl_conf_names(environment);
  setup.secret = environment.get_or(kSecretVariable, "");
  return setup;
}

}  // namespace distinit
