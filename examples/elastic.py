# SPDX-License-Identifier: Apache-2.0
"""A training that goes on when a rank is killed: torchrun's agent starts the ranks again, and they go on from a
checkpoint.

    torchrun --nproc-per-node 2 --max-restarts 3 examples/elastic.py CHECKPOINT [STEP]

With STEP, rank 1 kills itself there in its first life, as the system does when memory runs out. The others hear of it
within moments, out of `loss.backward()`, with its number (LostRankError); they end, and the agent need not wait for a
time limit. (The agent itself looks every 0.1 s and ends them, too, perhaps before they have printed why: a longer
`--monitor-interval 2` leaves them the time.) Data depend on the step alone, so that the losses are those of a run that nobody has interrupted."""

import os
import signal
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

STEPS, STEPS_A_CHECKPOINT = 30, 5


def batch(step: int, rank: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return points, and on which side of a curve they lie."""
    points = torch.randn(64, 2, generator=torch.Generator().manual_seed(1000 * step + rank))
    return points, (points[:, 1] > points[:, 0].sin()).long()


def main() -> None:
    """Train from the latest checkpoint on."""
    checkpoint = Path(sys.argv[1])
    fatal_step = int(sys.argv[2]) if len(sys.argv) > 2 else None
    life = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"))
    dist.init_process_group("hemiola")
    rank = dist.get_rank()
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 32), nn.GELU(), nn.Linear(32, 2))
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    first_step = 0
    if checkpoint.exists():
        saved = torch.load(checkpoint)
        net.load_state_dict(saved["net"])
        optimizer.load_state_dict(saved["optimizer"])
        first_step = saved["steps"]
    if rank == 0:
        print(f"life {life}: from step {first_step}", flush=True)
    parallel = DistributedDataParallel(net)
    for step in range(first_step, STEPS):
        points, sides = batch(step, rank)
        loss = nn.functional.cross_entropy(parallel(points), sides)
        optimizer.zero_grad()
        if step == fatal_step and life == 0 and rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        loss.backward()
        optimizer.step()
        if (step + 1) % STEPS_A_CHECKPOINT == 0:
            if rank == 0:  # written whole or not at all
                saved = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "steps": step + 1}
                torch.save(saved, checkpoint.with_suffix(".new"))
                checkpoint.with_suffix(".new").replace(checkpoint)
            dist.barrier()
    dist.all_reduce(loss.detach_(), op=dist.ReduceOp.AVG)
    if rank == 0:
        print(f"life {life}: loss {loss.item():.6f} after step {STEPS}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
