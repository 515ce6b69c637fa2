# SPDX-License-Identifier: Apache-2.0
"""Ranks that make each small call many times: `counted_calls.py BATCHES COUNT PAUSE_S`.

`os.getsid` marks where each batch of so many calls begins and where it ends, since nothing else here asks for it.
Rank 0 pauses after each call, so that the others have come to the next one before."""

from __future__ import annotations

import os
import sys
import time

import numpy as np

import hemiola as hm


def main() -> None:
    comm = hm.init()
    batches, count, pause_s = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    pauses = comm.rank == 0 and pause_s > 0
    x, out = np.ones(256, np.float32), np.ones(256, np.float32)
    for call in (
        lambda: None,
        lambda: comm.all_reduce(x),
        lambda: comm.all_reduce(x, out=out),
        lambda: comm.all_gather(x),
        lambda: comm.broadcast(x),
        lambda: comm.barrier(),
    ):
        for _ in range(300):
            call()
        for _ in range(batches):
            os.getsid(0)
            for _ in range(count):
                call()
                if pauses:
                    time.sleep(pause_s)
            os.getsid(0)


if __name__ == "__main__":
    main()
