#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An ordinary DistributedDataParallel program that knows nothing of its launcher.

    srun -N2 --ntasks-per-node=2 --distinit /usr/bin/python3 ddp.py
    torchrun --nproc-per-node=2 ddp.py
"""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    model = DistributedDataParallel(torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    random = torch.Generator().manual_seed(100 + dist.get_rank())
    for step in range(10):
        x = torch.randn(32, 8, generator=random)
        loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        if dist.get_rank() == 0:
            print(f"step {step}  loss {mean.item() / dist.get_world_size():.6f}", flush=True)
    # The same on all ranks, or data parallelism has not worked.
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    print(f"rank {dist.get_rank()} of {dist.get_world_size()}: weights {weights.sum():.6f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
