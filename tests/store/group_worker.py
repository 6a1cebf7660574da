# SPDX-License-Identifier: Apache-2.0
"""One rank of a gloo process group, started with torchrun's environment. Prints what it got."""

import datetime
import os
import sys

import torch
import torch.distributed as dist

timeout = datetime.timedelta(seconds=60)
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
if sys.argv[1] == "agent-store":
    dist.init_process_group("gloo", timeout=timeout)
else:  # a build without libuv can't use the agent's store
    store = dist.TCPStore(
        os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), size, False, timeout, use_libuv=False
    )
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=timeout)

total = torch.tensor([float(rank)])
dist.all_reduce(total)
pair = [rank // 2 * 2, rank // 2 * 2 + 1]
groups = [dist.new_group([low, low + 1]) for low in range(0, size, 2)]
in_pair = torch.tensor([float(rank)])
dist.all_reduce(in_pair, group=groups[rank // 2])
names = [None] * size
dist.all_gather_object(names, f"rank {rank}")
dist.barrier()
dist.destroy_process_group()
assert in_pair.item() == sum(pair) and names == [f"rank {r}" for r in range(size)]
print(int(total.item()))
