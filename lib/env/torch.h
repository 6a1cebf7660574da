// SPDX-License-Identifier: Apache-2.0
#pragma once
// What torchrun gives its workers (PyTorch
// torch/distributed/elastic/agent/server/local_elastic_agent.py).

#include "lib/env/assignment.h"
#include "lib/env/rank_context.h"

namespace distinit {

/// All of torchrun's worker variables but TORCHELASTIC_ERROR_FILE: nobody would read that file.
/// TORCHELASTIC_USE_AGENT_STORE=True makes every rank, 0 included, a client of our store; under
/// torch.store=rank0 it is taken away and rank 0's program hosts one on MASTER_PORT.
/// GLOO_SOCKET_IFNAME and TP_SOCKET_IFNAME (tensorpipe), which torchrun leaves to its users, are
/// the interface towards MASTER_ADDR. OMP_NUM_THREADS is the cores of the rank's share where that
/// is known, else 1 as torchrun has it.
std::vector<Assignment> torch_family(const RankContext& context);

}  // namespace distinit
