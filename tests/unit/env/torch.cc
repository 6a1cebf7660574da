// SPDX-License-Identifier: Apache-2.0
#include "lib/env/torch.h"

#include "lib/base/text.h"
#include "tests/unit/env/sample.h"
#include "tests/unit/expect_text.h"

using namespace distinit;

namespace {

/// "NAME=value" of the assignments of one kind, blanks between.
std::string of_kind(const std::vector<Assignment>& assignments, AssignmentKind kind) {
  std::vector<std::string> out;
  for (const Assignment& assignment : assignments) {
    if (assignment.kind == kind) {
      out.push_back(concat(assignment.name, '=', assignment.value));
    }
  }
  return join(out, " ");
}

}  // namespace

Test(torch, gives_torchruns_worker_variables) {
  const Sample sample;
  const auto assignments = torch_family(sample.context);
  EXPECT_TEXT(of_kind(assignments, AssignmentKind::kIdentity),
              "RANK=3 WORLD_SIZE=4 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 GROUP_RANK=1 "
              "GROUP_WORLD_SIZE=2 ROLE_RANK=3 ROLE_WORLD_SIZE=4 ROLE_NAME=default "
              "TORCHELASTIC_RUN_ID=4242.0.0 TORCHELASTIC_RESTART_COUNT=0 "
              "TORCHELASTIC_MAX_RESTARTS=0 TORCHELASTIC_USE_AGENT_STORE=True");
  EXPECT_TEXT(of_kind(assignments, AssignmentKind::kEndpoint),
              "MASTER_ADDR=10.0.0.7 MASTER_PORT=23001");
  EXPECT_TEXT(of_kind(assignments, AssignmentKind::kDefault),
              "GLOO_SOCKET_IFNAME=ib0 TP_SOCKET_IFNAME=ib0 TORCH_NCCL_ASYNC_ERROR_HANDLING=1 "
              "OMP_NUM_THREADS=1");
  EXPECT_TEXT(of_kind(assignments, AssignmentKind::kAbsent), "");
}

Test(torch, takes_each_nodes_own_number_of_tasks) {
  Sample sample("dp", 5, 4);
  sample.context.local_rank = 0;
  sample.context.local_world_size = 1;
  const auto assignments = torch_family(sample.context);
  EXPECT_TEXT(of_kind(assignments, AssignmentKind::kIdentity),
              "RANK=4 WORLD_SIZE=5 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 GROUP_RANK=1 "
              "GROUP_WORLD_SIZE=2 ROLE_RANK=4 ROLE_WORLD_SIZE=5 ROLE_NAME=default "
              "TORCHELASTIC_RUN_ID=4242.0.0 TORCHELASTIC_RESTART_COUNT=0 "
              "TORCHELASTIC_MAX_RESTARTS=0 TORCHELASTIC_USE_AGENT_STORE=True");
  // One task on the node: torchrun leaves the threads alone.
  EXPECT_TEXT(of_kind(assignments, AssignmentKind::kDefault),
              "GLOO_SOCKET_IFNAME=ib0 TP_SOCKET_IFNAME=ib0 TORCH_NCCL_ASYNC_ERROR_HANDLING=1");
}

Test(torch, takes_the_flag_away_where_rank_0_hosts_the_store) {
  Sample sample("tp2,dp2,torch.store=rank0");
  sample.context.master_port = 23007;
  const auto assignments = torch_family(sample.context);
  EXPECT_TEXT(of_kind(assignments, AssignmentKind::kAbsent), "TORCHELASTIC_USE_AGENT_STORE=");
  cr_expect(of_kind(assignments, AssignmentKind::kIdentity).find("AGENT_STORE") ==
            std::string::npos);
  EXPECT_TEXT(of_kind(assignments, AssignmentKind::kEndpoint),
              "MASTER_ADDR=10.0.0.7 MASTER_PORT=23007");
}

Test(torch, counts_the_jobs_restarts) {
  Sample sample;
  sample.context.restart_count = 2;
  const std::string identity = of_kind(torch_family(sample.context), AssignmentKind::kIdentity);
  cr_expect(identity.find("TORCHELASTIC_RUN_ID=4242.0.2 TORCHELASTIC_RESTART_COUNT=2 ") !=
            std::string::npos);
}

Test(torch, gives_a_thread_to_each_core_of_the_share) {
  Sample sample;
  sample.context.omp_threads = 8;
  EXPECT_TEXT(of_kind(torch_family(sample.context), AssignmentKind::kDefault),
              "GLOO_SOCKET_IFNAME=ib0 TP_SOCKET_IFNAME=ib0 TORCH_NCCL_ASYNC_ERROR_HANDLING=1 "
              "OMP_NUM_THREADS=8");
  sample.context.local_world_size = 1;
  cr_expect(of_kind(torch_family(sample.context), AssignmentKind::kDefault)
                .ends_with(" OMP_NUM_THREADS=8"));
}

Test(torch, leaves_gloo_and_tensorpipe_alone_where_no_interface_is_known) {
  Sample sample;
  sample.context.interface.clear();
  EXPECT_TEXT(of_kind(torch_family(sample.context), AssignmentKind::kDefault),
              "TORCH_NCCL_ASYNC_ERROR_HANDLING=1 OMP_NUM_THREADS=1");
}
