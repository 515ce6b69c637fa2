# SPDX-License-Identifier: Apache-2.0
"""A rank that runs all-reduces over its host's NICs, checks every element, and says how long each took, in seconds."""

from __future__ import annotations

import json
import sys
import time

import numpy as np

import hemiola as hm

COUNT, ELEMENTS = int(sys.argv[1]), int(sys.argv[2])

with hm.init(timeout_s=60) as comm:
    ranks = np.arange(comm.rank_count, dtype=np.int64)
    index = np.arange(ELEMENTS, dtype=np.int64)
    taken = []
    for turn in range(COUNT):
        x = index * (comm.rank + 1) + turn
        begin = time.monotonic()
        comm.all_reduce(x)
        taken.append(time.monotonic() - begin)
        assert (x == index * int((ranks + 1).sum()) + turn * comm.rank_count).all(), (
            f"all-reduce {turn} is wrong"
        )
    comm.barrier()
    print(json.dumps(taken), flush=True)
