# SPDX-License-Identifier: Apache-2.0
"""Starts ranks as torch.multiprocessing does, which meet at an address: spawned.py PORT. Knows Hemiola by name."""

import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def work(rank: int, port: int) -> None:
    """Add up the ranks."""
    dist.init_process_group("cpu:hemiola", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    x = torch.tensor([rank + 1.0])
    dist.all_reduce(x)
    sys.stdout.write(f"rank {rank}: {x.item():g}\n")  # at once: ranks share a pipe
    sys.stdout.flush()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, (int(sys.argv[1]),), nprocs=2)
