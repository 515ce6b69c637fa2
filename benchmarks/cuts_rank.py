# SPDX-License-Identifier: Apache-2.0
"""One rank of benchmarks/cuts.py: all-reduces, shrinks whenever ranks are lost, and says how it ended."""

from __future__ import annotations

import json
import os
import sys
import time

import numpy as np

import hemiola as hm

#: How long a side may look for the others.
SHRINK_S = 2.0


def work(comm: hm.Communicator, until_s: float) -> tuple[str, list[int]]:
    """All-reduce until the first of those that are left says that time is over.

    Return how this rank ended, and the job's numbers of those that went on with it."""
    own = int(os.environ["HEMIOLA_RANK"])
    present = list(range(comm.rank_count))
    print("working", flush=True)
    while True:
        try:
            mine = np.zeros(len(present) + 1)
            mine[comm.rank], mine[-1] = own + 1, time.monotonic() > until_s
            comm.all_reduce(mine)
            present = [int(number) - 1 for number in mine[:-1]]
            if mine[-1] > 0:
                return "went on", present
            time.sleep(0.002)
        except hm.LostRankError:
            try:
                comm = comm.shrink(timeout_s=SHRINK_S)
            except hm.LostRankError as error:
                return type(error).__name__, []
            present = [0] * comm.rank_count


if __name__ == "__main__":
    ended, with_whom = work(hm.init(timeout_s=60), time.monotonic() + float(sys.argv[1]))
    print(json.dumps({"ended": ended, "with": with_whom}), flush=True)
