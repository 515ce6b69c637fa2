# SPDX-License-Identifier: Apache-2.0
"""One rank of a job that records itself: killed_job_rank.py RANK RANKS STORE. Rank 1 comes 300 ms late to the third
all-reduce, and the last rank is killed before the fifth."""

from __future__ import annotations

import os
import signal
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist

rank, ranks = int(sys.argv[1]), int(sys.argv[2])
dist.init_process_group(
    "hemiola",
    init_method=f"file://{sys.argv[3]}",
    rank=rank,
    world_size=ranks,
    timeout=timedelta(seconds=30),
)
try:
    for step in range(1, 7):
        if step == 3 and rank == 1:
            time.sleep(0.3)
        if step == 5 and rank == ranks - 1:
            os.kill(os.getpid(), signal.SIGKILL)
        dist.all_reduce(torch.ones(100_000))
except RuntimeError:
    sys.exit(3)
