# SPDX-License-Identifier: Apache-2.0
"""One rank of a training on several hosts, whose network is cut while it trains: torch_cut_rank.py RANK RANKS MODEL,
which is "ddp" or "fsdp2".

Prints "trains" and then what a step has raised, as JSON, with what comes of going on without the lost."""

import itertools
import json
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard


def main() -> None:
    """Train until something is raised."""
    torch.set_num_threads(1)
    rank, rank_count = map(int, sys.argv[1:3])
    dist.init_process_group(
        "hemiola",
        init_method="tcp://host0:29513",
        rank=rank,
        world_size=rank_count,
        timeout=timedelta(seconds=60),
    )
    plain = nn.Linear(64, 64)
    is_sharded = sys.argv[3] == "fsdp2"
    model = fully_shard(plain) if is_sharded else nn.parallel.DistributedDataParallel(plain)
    end_s = time.monotonic() + 60
    try:
        for step in itertools.count():
            model(torch.ones(4, 64)).sum().backward()
            dist.barrier()
            if step == 3:
                sys.stdout.write("trains\n")  # at once: somebody waits for it
                sys.stdout.flush()
            if time.monotonic() > end_s:
                break
    except Exception as error:
        told = {"raised": kinds_of(error), "message": str(error), "goes_on": gone_on()}
        sys.stdout.write(json.dumps(told) + "\n")


def kinds_of(error: Exception) -> list[str]:
    """Return the names of an error's classes."""
    return [kind.__name__ for kind in type(error).__mro__]


def gone_on() -> list[str]:
    """Shrink the communicator of the group; return the classes of what that raises."""
    try:
        dist.group.WORLD._comm.shrink(timeout_s=5.0)
    except Exception as error:
        return kinds_of(error)
    return []


if __name__ == "__main__":
    main()
