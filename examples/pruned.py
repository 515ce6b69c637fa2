# SPDX-License-Identifier: Apache-2.0
"""Data-parallel training whose gradients are pruned: each rank sends the largest hundredth of every parameter's
gradient now, and adds the rest to its next one.

    torchrun --nproc-per-node 2 examples/pruned.py        # or: ... examples/pruned.py DENSITY, such as 0.1

One line more than ddp.py. It pays where the network between hosts is the limit; inside a host it costs time. Losses are
near those of dense gradients, not equal to them: DENSITY 1 shows what they would be."""

import sys
import time
from pydoc_data.topics import topics

import torch
import torch.distributed as dist
from ddp import BATCH, CONTEXT, model
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from hemiola.torch import PrunedGradients

STEPS = 60


def main() -> None:
    """Train, and print the loss, the time of a step, and how much was sent."""
    density = float(sys.argv[1]) if len(sys.argv) > 1 else 0.01
    dist.init_process_group("hemiola")
    rank, n = dist.get_rank(), dist.get_world_size()
    text = torch.frombuffer(bytearray("".join(topics.values()).encode()), dtype=torch.uint8).long()
    draw = torch.Generator().manual_seed(rank)
    net = DistributedDataParallel(model())
    pruning = PrunedGradients(density, warm_up_steps=10)
    net.register_comm_hook(pruning, PrunedGradients.reduce)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    began, mean = time.perf_counter(), torch.zeros(())
    for step in range(STEPS):
        begin = torch.randint(len(text) - CONTEXT - 1, (BATCH, 1), generator=draw)
        window = text[begin + torch.arange(CONTEXT + 1)]
        loss = nn.functional.cross_entropy(net(window[:, :-1]), window[:, -1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean += loss.detach() / 20 / n
        if (step + 1) % 20 == 0:
            dist.all_reduce(mean)
            if rank == 0:
                print(f"steps {step - 18} to {step + 1}: loss {mean.item():.4f}", flush=True)
            mean.zero_()
    if rank == 0:
        whole = sum(parameter.numel() for parameter in net.parameters())
        print(f"{(time.perf_counter() - began) / STEPS * 1e3:.1f} ms a step", end="; ")
        print(f"sent {pruning.kept} of {whole} elements in the last one")
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
