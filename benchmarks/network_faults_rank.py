# SPDX-License-Identifier: Apache-2.0
"""One rank of benchmarks/network_faults.py: all-reduces that it checks, until rank 0 says that it is enough. Where
ranks are lost, it goes on with those that are left; after SIGUSR1 it comes LATE_S late to the next one. What it has
seen goes to standard output in lines of JSON, with times of the machine's monotonic clock."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from importlib import metadata
from typing import Any

import numpy as np

import hemiola as hm

COUNT = 40_000
#: Exact all-reduces of the survivors.
AFTERWARDS = 10
LATE_S = 10.0
#: Set for a rank that pretends to be of another version.
VERSION = "FAULTS_VERSION"


def say(**words: Any) -> None:
    print(json.dumps(words | {"at_s": time.monotonic()}), flush=True)


def wanted_to_end() -> bool:
    """Rank 0: whether the harness has closed our standard input."""
    return bool(select.select([sys.stdin], [], [], 0)[0])


def work(comm: hm.Communicator) -> int:
    """Sum until rank 0 adds its word to the first element; return how many sums were wrong."""
    n, wrong, number = comm.rank_count, 0, 0
    pattern = np.arange(COUNT) % 64
    signalled: list[int] = []
    signal.signal(signal.SIGUSR1, lambda number, _: signalled.append(number))
    while True:
        if signalled:
            signalled.clear()
            time.sleep(LATE_S)
            say(event="back")
        x = (pattern + comm.rank + number % 100).astype(np.float32)
        x[0] = float(comm.rank == 0 and wanted_to_end())
        comm.all_reduce(x)
        expected = n * (pattern + number % 100) + n * (n - 1) // 2
        wrong += int((x[1:] != expected[1:]).sum())
        if x[0] != 0:
            return wrong
        if number == 0:
            say(event="working")
        number += 1


def go_on(comm: hm.Communicator, own: int) -> None:
    """Shrink, and again where more die meanwhile; then say who is left and whether their sums are exact."""
    while True:
        comm = comm.shrink(timeout_s=30)
        try:
            left = comm.all_gather(np.array([own])).tolist()
            wrong, pattern = 0, np.arange(COUNT) % 64
            for number in range(AFTERWARDS):
                x = (pattern + own + number).astype(np.float32)
                comm.all_reduce(x)
                wrong += int((x != len(left) * (pattern + number) + sum(left)).sum())
            comm.barrier()
        except hm.LostRankError as error:
            say(event="lost again", rank=error.world_rank, words=str(error))
        else:
            say(event="ended", wrong=wrong, left=left)
            return


def main() -> int:
    """Exit status 0 where this rank has ended of its own, whatever the others did."""
    if VERSION in os.environ:
        metadata.version = lambda _: os.environ[VERSION]  # type: ignore[assignment]
    try:
        with hm.init() as comm:
            own = comm.rank
            try:
                say(event="ended", wrong=work(comm), left=list(range(comm.rank_count)))
            except hm.LostRankError as error:
                say(event="lost", rank=error.world_rank, words=str(error))
                go_on(comm, own)
    except (hm.HemiolaError, OSError) as error:
        say(event=type(error).__name__, words=str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
