// SPDX-License-Identifier: Apache-2.0
#include "lib/env/torch.h"

#include "lib/base/text.h"

namespace distinit {

std::vector<Assignment> torch_family(const RankContext& context) {
  std::vector<Assignment> out;
  const auto identity = [&out](std::string name, std::string value) {
    out.push_back(Assignment{std::move(name), std::move(value), AssignmentKind::kIdentity});
  };
  identity("RANK", concat(context.rank));
  identity("WORLD_SIZE", concat(context.world_size));
  identity("LOCAL_RANK", concat(context.local_rank));
  identity("LOCAL_WORLD_SIZE", concat(context.local_world_size));
  identity("GROUP_RANK", concat(context.group_rank));
  identity("GROUP_WORLD_SIZE", concat(context.group_world_size));
  identity("ROLE_RANK", concat(context.rank));
  identity("ROLE_WORLD_SIZE", concat(context.world_size));
  identity("ROLE_NAME", "default");
  out.push_back(Assignment{"MASTER_ADDR", context.master_addr, AssignmentKind::kEndpoint});
  out.push_back(Assignment{"MASTER_PORT", concat(context.master_port), AssignmentKind::kEndpoint});
  identity("TORCHELASTIC_RUN_ID",
           concat(context.job_id, '.', context.step_id, '.', context.restart_count));
  // 1.9 to 2.5 put it into every key and fail without it; our store is new for every restart, so 0
  // is as good, but the true count is what frameworks show.
  identity("TORCHELASTIC_RESTART_COUNT", concat(context.restart_count));
  identity("TORCHELASTIC_MAX_RESTARTS", "0");
  if (context.options.torch_store == TorchStore::kAgent) {
    identity("TORCHELASTIC_USE_AGENT_STORE", "True");
  } else {
    out.push_back(Assignment{"TORCHELASTIC_USE_AGENT_STORE", "", AssignmentKind::kAbsent});
  }
  if (!context.interface.empty()) {
    // gloo takes what the node's own name resolves to otherwise, on Debian 127.0.1.1 (/etc/hosts).
    out.push_back(Assignment{"GLOO_SOCKET_IFNAME", context.interface, AssignmentKind::kDefault});
    out.push_back(Assignment{"TP_SOCKET_IFNAME", context.interface, AssignmentKind::kDefault});
  }
  out.push_back(Assignment{"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1", AssignmentKind::kDefault});
  if (context.omp_threads > 0) {
    out.push_back(
        Assignment{"OMP_NUM_THREADS", concat(context.omp_threads), AssignmentKind::kDefault});
  } else if (context.local_world_size > 1) {
    // As torchrun: several ranks on a node would each start a thread per core.
    out.push_back(Assignment{"OMP_NUM_THREADS", "1", AssignmentKind::kDefault});
  }
  return out;
}

}  // namespace distinit
