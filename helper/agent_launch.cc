// SPDX-License-Identifier: Apache-2.0
#include "helper/agent_launch.h"

#include "lib/base/interface.h"
#include "lib/base/text.h"
#include "lib/env/distinit_family.h"
#include "lib/env/nccl.h"
#include "lib/env/torch.h"
#include "lib/env/ucx.h"

#include <utility>

#include <sys/resource.h>

namespace distinit {

namespace {

int limit_resource(std::string_view name) {
  constexpr std::pair<std::string_view, int> kResources[] = {
      {"nofile", RLIMIT_NOFILE},
      {"memlock", RLIMIT_MEMLOCK},
      {"stack", RLIMIT_STACK},
      {"core", RLIMIT_CORE},
  };
  for (const auto& [known, resource] : kResources) {
    if (known == name) {
      return resource;
    }
  }
  return -1;
}

RankContext make_context(const AgentSetup& setup, const Hello& hello, const Release& release,
                         const NodePlacement* placement) {
  const StepFacts& facts = setup.rendezvous.facts;
  RankContext context;
  context.job_id = facts.job_id;
  context.step_id = facts.step_id;
  context.restart_count = facts.restart_count;
  context.rank = hello.rank;
  context.world_size = facts.world_size;
  context.local_rank = hello.local_rank;
  context.local_world_size = static_cast<int>(facts.node_ranks.size());
  context.group_rank = facts.group_rank;
  context.group_world_size = facts.node_count;
  context.node = facts.node_name;
  context.master_addr = release.master_addr;
  context.master_port = release.master_port;
  if (const auto master = SocketAddress::parse(release.master_addr, release.master_port)) {
    context.interface = interface_towards(*master);
  }
  context.store_addr = release.store_addr;
  context.store_port = release.store_port;
  context.mesh = &setup.rendezvous.mesh;
  context.spec = &setup.rendezvous.spec;
  context.options = setup.rendezvous.options;
  context.nccl_settings = context.options.nccl;
  context.nccl_conf = setup.nccl_conf;
  if (placement != nullptr) {
    add_placement(*placement, context);
  }
  return context;
}

}  // namespace

Launch prepare_launch(const AgentSetup& setup, const Hello& hello, const Release& release,
                      const NodePlacement* placement) {
  const RankContext context = make_context(setup, hello, release, placement);
  std::vector<Assignment> assignments;
  for (const auto& family : {torch_family, nccl_family, ucx_family, distinit_family}) {
    for (Assignment& assignment : family(context)) {
      assignments.push_back(std::move(assignment));
    }
  }
  Environment environment = setup.task_environment;
  const Environment own(hello.environment);
  for (const auto& [name, value] : own.values()) {
    environment.set(name, value);
  }
  AppliedEnvironment applied = apply_assignments(assignments, environment);
  Launch launch;
  launch.go.program = hello.program;
  launch.go.set = std::move(applied.set);
  launch.go.unset = std::move(applied.unset);
  for (const LimitOption& limit : context.options.limits) {
    launch.go.limits.push_back(LimitRequest{limit_resource(limit.name), limit.value});
  }
  if (placement != nullptr) {
    add_placement(*placement, hello.local_rank, launch.go);
  }
  launch.go.stay = hello.rank == 0 && context.group_world_size > 1 &&
                   context.options.torch_store == TorchStore::kAgent;
  launch.go.linger_ms = static_cast<uint32_t>(context.options.linger_s) * 1000;
  launch.go.who = concat("rank ", hello.rank, " on ", context.node);
  if (hello.rank == 0) {
    launch.findings = std::move(applied.findings);
    launch.ours = std::move(applied.ours);
    launch.kept = std::move(applied.kept);
  }
  return launch;
}

}  // namespace distinit
