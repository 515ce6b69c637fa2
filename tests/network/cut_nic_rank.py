# SPDX-License-Identifier: Apache-2.0
"""A rank that runs all-reduces while a NIC is cut, checks every element, and prints its times and its error."""

from __future__ import annotations

import json
import sys
import time

import numpy as np

import hemiola as hm

COUNT, ELEMENTS, LIMIT_S = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])

with hm.init(timeout_s=LIMIT_S) as comm:
    ranks = np.arange(comm.rank_count, dtype=np.int64)
    index = np.arange(ELEMENTS, dtype=np.int64)
    taken: list[float] = []
    error = ""
    for turn in range(COUNT):
        own = index * (comm.rank + 1) + turn
        x = own.copy()
        begin = time.monotonic()
        try:
            comm.all_reduce(x)
        except hm.HemiolaError as raised:
            error = type(raised).__name__
            assert (x == own).all(), "the input of the failed all-reduce has changed"
        else:
            expected = index * int((ranks + 1).sum()) + turn * comm.rank_count
            assert (x == expected).all(), f"all-reduce {turn} is wrong"
        taken.append(time.monotonic() - begin)
        if error:
            break
        if turn == 0:
            print("works", flush=True)
    print(json.dumps({"taken": taken, "error": error}), flush=True)
