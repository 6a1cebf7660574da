#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small training job: tensor-parallel inside a tp group, data-parallel across dp groups.

    srun -N2 --ntasks-per-node=2 --distinit=tp2,dp2 /usr/bin/python3 train.py
    python3 train.py --reference          the same training in one process: the same losses

The model is y = W2 tanh(W1 x). W1 is split by rows over the ranks of a tp group and W2 by columns,
so that one all-reduce over the tp group completes the output. Every dp group averages its gradients.
Plain PyTorch, 1.13 or later: gloo on CPUs, nccl where every task has a GPU.
"""

import argparse
import os
import socket
import sys

import torch
import torch.distributed as dist

INPUTS, HIDDEN, OUTPUTS, SAMPLES, STEPS = 16, 64, 4, 96, 31


class SumForward(torch.autograd.Function):
    """All-reduce of the partial outputs; each rank's gradient is already the whole one."""

    @staticmethod
    def forward(_, partial, group):
        whole = partial.clone()
        dist.all_reduce(whole, group=group)
        return whole

    @staticmethod
    def backward(_, gradient):
        return gradient, None


class Model(torch.nn.Module):
    """This rank's part of both layers: column-parallel, then row-parallel. `tp` None: all of them."""

    def __init__(self, tp, dtype, device):
        super().__init__()
        self.tp = tp
        parts, part = (dist.get_world_size(tp), dist.get_rank(tp)) if tp else (1, 0)
        if HIDDEN % parts:
            sys.exit(f"train.py: {HIDDEN} hidden units do not split over tp {parts}")
        first, second = initial_weights(dtype)
        # Copies: a view would keep the other ranks' parts in memory.
        self.w1 = torch.nn.Parameter(first.chunk(parts, 0)[part].clone().to(device))
        self.w2 = torch.nn.Parameter(second.chunk(parts, 1)[part].clone().to(device))

    def forward(self, x):
        y = torch.tanh(x @ self.w1.T) @ self.w2.T
        return SumForward.apply(y, self.tp) if self.tp else y


def initial_weights(dtype):
    """The same on every rank, whatever the parts are."""
    random = torch.Generator().manual_seed(1)
    first = torch.randn(HIDDEN, INPUTS, generator=random, dtype=torch.float64) / INPUTS**0.5
    second = torch.randn(OUTPUTS, HIDDEN, generator=random, dtype=torch.float64) / HIDDEN**0.5
    return first.to(dtype), second.to(dtype)


def data(dtype):
    """All samples, and what the model shall learn to say to them."""
    random = torch.Generator().manual_seed(2)
    x = torch.randn(SAMPLES, INPUTS, generator=random, dtype=torch.float64)
    target = torch.sin(x[:, :OUTPUTS]) + 0.5 * x[:, OUTPUTS : 2 * OUTPUTS]
    return x.to(dtype), target.to(dtype)


def train(args, tp, dp, device):
    """Yields each step's loss over all samples."""
    dtype = torch.float64 if args.float64 else torch.float32
    parts, part = (dist.get_world_size(dp), dist.get_rank(dp)) if dp else (1, 0)
    if SAMPLES % parts:
        sys.exit(f"train.py: {SAMPLES} samples do not split over dp {parts}")
    model = Model(tp, dtype, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.5)
    x, target = (whole.chunk(parts)[part].to(device) for whole in data(dtype))
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = ((model(x) - target) ** 2).mean()
        loss.backward()
        value = loss.detach().clone()
        if dp:
            for tensor in [value] + [parameter.grad for parameter in model.parameters()]:
                dist.all_reduce(tensor, group=dp)
                tensor /= parts
        yield value.item()
        optimizer.step()


def my_group(dimension):
    """The group of this rank. Every rank must create all groups, its own or not, in one order."""
    mine = None
    for ranks in os.environ[f"DISTINIT_{dimension}_GROUPS"].split(";"):
        members = [int(rank) for rank in ranks.split(",")]
        group = dist.new_group(members)
        if dist.get_rank() in members:
            mine = group
    return mine


def choose_device():
    """This rank's GPU where every task has one, else the CPU."""
    local_rank, tasks = int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"])
    visible = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if visible >= tasks:
        return torch.device("cuda", local_rank)
    # One GPU visible per task: Slurm has narrowed it.
    if visible == 1 and os.environ.get("SLURM_GPUS_PER_TASK") == "1":
        return torch.device("cuda", 0)
    return torch.device("cpu")


def introduce(device):
    """One line for each rank, in their order."""
    groups = ", ".join(
        f"{name.lower()} group {{{os.environ[f'DISTINIT_{name}_RANKS']}}}" for name in ("TP", "DP")
    )
    node = os.environ.get("SLURMD_NODENAME") or socket.gethostname()
    lines = [None] * dist.get_world_size()
    dist.all_gather_object(
        lines,
        f"rank {dist.get_rank()} on {node}, local rank {os.environ['LOCAL_RANK']}: "
        f"{os.environ['DISTINIT_COORDS'].replace(',', ' ')}, {groups}, {device}",
    )
    if dist.get_rank() == 0:
        print("\n".join(lines), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--reference", action="store_true", help="one process, no groups, on the CPU")
    parser.add_argument("--float64", action="store_true", help="double precision")
    args = parser.parse_args()
    torch.set_num_threads(1)

    if args.reference:
        speaks, losses = True, train(args, None, None, torch.device("cpu"))
    else:
        device = choose_device()
        if device.type == "cuda":
            torch.cuda.set_device(device)
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
        introduce(device)
        speaks, losses = dist.get_rank() == 0, train(args, my_group("TP"), my_group("DP"), device)

    for step, loss in enumerate(losses):
        if speaks and step % 5 == 0:
            print(f"step {step:2}  loss {loss:.6f}", flush=True)
    if speaks:
        print(f"final loss {loss:.12f}", flush=True)
    if not args.reference:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
