# SPDX-License-Identifier: Apache-2.0
"""Data-parallel training with PyTorch over Hemiola: a small language model learns the text of Python's own help.

    torchrun --nproc-per-node 2 examples/ddp.py           # or: ... examples/ddp.py gloo

Nothing here knows Hemiola but the word in `init_process_group`."""

import sys
import time
from pydoc_data.topics import topics

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

CONTEXT, WIDTH, BATCH, STEPS = 32, 128, 32, 60


def model() -> nn.Module:
    """Return a network that says from a few bytes which one comes next."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Embedding(256, WIDTH),
        nn.Flatten(),
        nn.Linear(CONTEXT * WIDTH, 256),
        nn.GELU(),
        nn.Linear(256, 256),
    )


def main() -> None:
    """Train, and print the loss and the time of a step."""
    backend = sys.argv[1] if len(sys.argv) > 1 else "hemiola"
    dist.init_process_group(backend)
    text = torch.frombuffer(bytearray("".join(topics.values()).encode()), dtype=torch.uint8).long()
    draw = torch.Generator().manual_seed(dist.get_rank())
    net = DistributedDataParallel(model())
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    began, mean = time.perf_counter(), torch.zeros(())
    for step in range(STEPS):
        begin = torch.randint(len(text) - CONTEXT - 1, (BATCH, 1), generator=draw)
        window = text[begin + torch.arange(CONTEXT + 1)]
        loss = nn.functional.cross_entropy(net(window[:, :-1]), window[:, -1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        mean += loss.detach() / 20 / dist.get_world_size()
        if (step + 1) % 20 == 0:
            dist.all_reduce(mean)
            if dist.get_rank() == 0:
                print(f"steps {step - 18} to {step + 1}: loss {mean.item():.4f}", flush=True)
            mean.zero_()
    if dist.get_rank() == 0:
        print(f"{backend}: {(time.perf_counter() - began) / STEPS * 1e3:.1f} ms a step")
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
