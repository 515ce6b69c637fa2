# SPDX-License-Identifier: Apache-2.0
"""A rank of benchmarks/diagnosis.py: works as it is told line by line, diagnoses, and says what it found."""

from __future__ import annotations

import json
import sys
import time

import numpy as np

import hemiola as hm
from hemiola.communicator.fixed_work import do_work


def main() -> None:
    """Run rounds until standard input ends."""
    with hm.init(timeout_s=120) as comm:
        print(json.dumps({"ready": comm.rank}), flush=True)
        for line in sys.stdin:
            asked = json.loads(line)
            x = np.zeros(asked["nbytes"] // 4, np.float32)
            own_s = []
            for _ in range(asked["steps"]):
                begin = time.perf_counter()
                do_work(asked["work"])
                time.sleep(asked["late"].get(str(comm.rank), 0.0))
                own_s.append(time.perf_counter() - begin)
                comm.all_reduce(x, sparse=False)
            begin = time.perf_counter()
            found = comm.diagnose()
            took_s = time.perf_counter() - begin
            slow = {one.rank: one.factor for one in comm.health().slow}
            told = {**found.as_dict(), "health": slow, "own_s": float(np.median(own_s)), "took_s": took_s}
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
