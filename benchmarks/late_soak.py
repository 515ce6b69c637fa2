# SPDX-License-Identifier: Apache-2.0
"""Soak of the all-reduce that finds its late rank: 100,000 collectives on 3 to 8 ranks with random delays.

Every element is checked. Goal: no wrong element, no deadlock, every rank last many times, and all agreed on that.

    python benchmarks/late_soak.py [--collectives 100000] [--seed 1] [--messages]

With --messages ranks agree by messages.

Prints a JSON line for every number of ranks, then one with the machine and the total; exit code 1 for a wrong
element."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any

import numpy as np

import hemiola as hm
from hemiola.communicator.control_plane import control_plane, meeting_at_an_address
from hemiola.machine.capacity import describe_machine

RANKS = range(3, 9)
#: Elements of a buffer: fewer than ranks, one segment, several segments.
SIZES = (1, 777, 40_000)
_LIMIT_S = 3600.0


def soak(collectives: int, seed: int, plane: str, meeting: dict[str, str]) -> dict[str, Any]:
    """Run as one of the ranks; both who is delayed and by how much differ from call to call."""
    os.environ.update(meeting)
    with control_plane(plane):
        comm = hm.init(timeout_s=600)
    n, rng, common = comm.rank_count, np.random.default_rng([seed, comm.rank]), np.random.default_rng(seed)
    wrong, last = 0, np.zeros(n, np.int64)
    for call in range(collectives):
        size = SIZES[common.choice(3, p=[0.45, 0.45, 0.1])]
        if rng.random() < 0.2:
            time.sleep(rng.exponential(2e-4))
        x = np.arange(size, dtype=np.int64) * (comm.rank + 1) + call
        comm.all_reduce(x, schedule="all_reduce_late")
        wrong += int((x != np.arange(size, dtype=np.int64) * (n * (n + 1) // 2) + n * call).sum())
        if call % 500 == 499:
            last += np.bincount(comm.arrivals().last_rank[-500:], minlength=n)
    return {"wrong": wrong, "last": last.tolist()}


def main() -> int:
    """Run for every number of ranks."""
    parser = argparse.ArgumentParser(description="Soak of the late all-reduce.")
    parser.add_argument("--collectives", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--messages", action="store_true", help="agree by messages")
    asked = parser.parse_args()
    plane = "hosts" if asked.messages else "local"
    share, done, wrong, begin_s = -(-asked.collectives // len(RANKS)), 0, 0, time.monotonic()
    for ranks in RANKS:
        start_s = time.monotonic()
        meeting = meeting_at_an_address() if asked.messages else {}
        found = hm.launch(soak, ranks, share, asked.seed, plane, meeting, timeout_s=_LIMIT_S)
        done, wrong = done + share, wrong + sum(one["wrong"] for one in found)
        same = all(one["last"] == found[0]["last"] for one in found)
        row = {
            "ranks": ranks,
            "collectives": share,
            "seed": asked.seed,
            "control_plane": plane,
            "wrong": wrong,
            "last": found[0]["last"],
        }
        row |= {"ranks_agree_who_was_last": same, "seconds": round(time.monotonic() - start_s, 1)}
        print(json.dumps(row), flush=True)
    total = {"collectives": done, "wrong": wrong, "seconds": round(time.monotonic() - begin_s, 1)}
    print(json.dumps(total | {"machine": describe_machine()}))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
