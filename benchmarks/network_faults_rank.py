"""One rank of benchmarks/network_faults.py: all-reduces that it checks, until rank 0 says that it is enough or a rank
is lost. What it has seen goes to standard output in lines of JSON, with times of the machine's monotonic clock."""

from __future__ import annotations

import json
import select
import sys
import time
from typing import Any

import numpy as np

import hemiola as hm

COUNT = 40_000


def say(**words: Any) -> None:
    print(json.dumps(words | {"at_s": time.monotonic()}), flush=True)


def wanted_to_end() -> bool:
    """Rank 0: whether the harness has closed our standard input."""
    return bool(select.select([sys.stdin], [], [], 0)[0])


def work(comm: hm.Communicator) -> int:
    """Sum until rank 0 adds its word to the first element; return how many sums were wrong."""
    n, wrong, number = comm.rank_count, 0, 0
    pattern = np.arange(COUNT) % 64
    while True:
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


def main() -> int:
    """Exit status 0 where this rank has ended of its own, whatever the others did."""
    try:
        with hm.init(timeout_s=60) as comm:
            say(event="ended", wrong=work(comm))
    except hm.LostRankError as error:
        say(event="lost", rank=error.rank, words=str(error))
    except (hm.TimeoutError, hm.MismatchError, hm.ArgumentError) as error:
        say(event=type(error).__name__, words=str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
