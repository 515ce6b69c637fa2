# SPDX-License-Identifier: Apache-2.0
"""One rank of one contender of benchmarks/network.py: takes orders from the harness, answers with times.

Runs in the contender's own environment, so it imports nothing but NumPy and that library. Every rank has a connection
of its own to the harness, by a Unix socket, which leads out of its host; orders and answers are lines of JSON. Times
are those of the machine's monotonic clock, which its hosts share."""

from __future__ import annotations

import json
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from shared_memory_rank import Hemiola, Library, Mpi, Operation, Torch, Ucc, contribution

LIBRARIES: dict[str, Callable[[], Library]] = {
    "hemiola": Hemiola,
    "gloo": Torch,
    "openmpi": Mpi,
    "openmpi_ring": Mpi,
    "mpich": Mpi,
    "ucc": Ucc,
}


def schedule_of(words: str) -> Any:
    """Return an algorithm's name, or the schedule at a path."""
    import hemiola

    return hemiola.Schedule.load(words) if "/" in words else words


def operation_of(library: Library, order: dict[str, Any], x: np.ndarray, part: np.ndarray) -> Operation:
    """Return what an order asks for: an all-reduce in place, an all-gather to `x` or a reduce-scatter to `part`."""
    collective = order["collective"]
    if order.get("schedule"):
        assert isinstance(library, Hemiola)
        schedule = schedule_of(order["schedule"])
        return lambda: library.comm.all_reduce(x, schedule=schedule)
    return library.operation("all_reduce_in_place" if collective == "all_reduce" else collective, x, x, part)


def wrong_elements(library: Library, order: dict[str, Any]) -> int:
    """Run the collective once on known data and count this rank's wrong elements."""
    n, rank, count = library.rank_count, library.rank, max(1, order["bytes"] // 4)
    piece = count // n
    x, part = contribution(rank, count), contribution(rank, piece)
    operation_of(library, order, x, part)()
    if order["collective"] == "all_gather":
        return int((x != np.concatenate([contribution(r, piece) for r in range(n)])).sum())
    total = np.sum([contribution(r, count) for r in range(n)], axis=0)
    if order["collective"] == "all_reduce":
        return int((x != total).sum())
    return int((part != total[rank * piece : (rank + 1) * piece]).sum())


def measured(library: Library, order: dict[str, Any]) -> dict[str, float]:
    """Return when this rank came to the first of `repeats` operations, and when the last had ended.

    All begin together; `late`, a pair of rank and seconds, has one of them come so much later.
    """
    count = max(1, order["bytes"] // 4)
    x = np.full(count, 1.0, np.float32)
    part = np.full(max(1, count // library.rank_count), 1.0, np.float32)
    operation = operation_of(library, order, x, part)
    for _ in range(order.get("warm_up", 0)):
        operation()
    x[:] = 1.0
    library.barrier()
    late_rank, late_s = order.get("late") or (-1, 0.0)
    if library.rank == late_rank:
        time.sleep(late_s)
    came_s = time.monotonic()
    for _ in range(order["repeats"]):
        operation()
    return {"came_s": came_s, "ended_s": time.monotonic()}


def serve(library: Library, lines: Any) -> None:
    """Follow orders until the harness closes the connection."""
    while line := lines.readline():
        order = json.loads(line)
        answer: dict[str, Any]
        if order.get("check"):
            answer = {"wrong": wrong_elements(library, order)}
        elif order.get("ask") == "health":
            assert isinstance(library, Hemiola)
            answer = library.comm.health().as_dict()
        elif order.get("ask") == "late":
            assert isinstance(library, Hemiola)
            answer = {"is_expected": library.comm.expects_late_rank(order["bytes"])}
        else:
            answer = measured(library, order)
        print(json.dumps(answer), file=lines, flush=True)


def main() -> None:
    """Arguments: library, path of the harness's socket."""
    library = LIBRARIES[sys.argv[1]]()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(sys.argv[2])
        lines = connection.makefile("rw")
        print(library.rank, file=lines, flush=True)
        serve(library, lines)


if __name__ == "__main__":
    main()
