# SPDX-License-Identifier: Apache-2.0
"""One rank of benchmarks/skewed_exchange.py: exchanges blocks of skewed sizes in several ways, which take turns.

Arguments: the topology's file, rounds, then files of schedules, whose weights are the blocks' bytes. Each rank prints
one line of JSON: its spans by way and round, and its wrong blocks.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import hemiola as hm


def block(giver: int, taker: int, size: int) -> np.ndarray:
    """Return bytes that tell giver, taker and place."""
    return (np.arange(size) % 251 + 7 * giver + 31 * taker).astype(np.uint8)


def exchanged(comm: hm.Communicator, schedules: Sequence[hm.Schedule], rounds: int) -> dict[str, Any]:
    """Return this rank's spans of each schedule, and of the call's own choice, and its wrong blocks."""
    n, me = comm.rank_count, comm.rank
    table = np.asarray(schedules[0].chunk_weights).reshape(n, n, -1).sum(axis=2)
    given = [block(me, to, size) for to, size in enumerate(table[me])]
    right = [block(of, me, size) for of, size in enumerate(table[:, me])]
    out = [np.zeros_like(one) for one in right]
    ways: list[Callable[[], object]] = [lambda: comm.all_to_all_blocks(given, out)]
    ways += [lambda s=each: comm.all_to_all_blocks(given, out, schedule=s) for each in schedules]  # type: ignore[misc]
    wrong = 0
    for way in ways:  # connects, and warms up
        for one in out:
            one[:] = 0
        way()
        wrong += sum(not np.array_equal(a, b) for a, b in zip(out, right, strict=True))
    spans: list[list[tuple[float, float]]] = [[] for _ in ways]
    for _ in range(rounds):
        for way, own in zip(ways, spans, strict=True):
            comm.barrier()
            came_s = time.monotonic()
            way()
            own.append((came_s, time.monotonic()))
    return {"spans": spans, "wrong": wrong}


def measured(comm: hm.Communicator, rounds: int, paths: Sequence[str]) -> list[dict[str, Any]]:
    """Return the figures of every table: two schedules each, a direct one and a planned one."""
    schedules = [hm.Schedule.load(path) for path in paths]
    pairs = zip(schedules[::2], schedules[1::2], strict=True)
    return [exchanged(comm, pair, rounds) for pair in pairs]


def emulated(rounds: int, paths: Sequence[str]) -> list[dict[str, Any]]:
    """Measure as a rank of an emulated network."""
    with hm.init(timeout_s=120) as comm:
        return measured(comm, rounds, paths)


def main() -> None:
    """Measure on a host of a cluster."""
    with hm.init(topology=sys.argv[1], timeout_s=120) as comm:
        figures = measured(comm, int(sys.argv[2]), sys.argv[3:])
        comm.barrier()  # rank 0 keeps everybody's plans, and stays until all have asked
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
