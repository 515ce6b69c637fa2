# SPDX-License-Identifier: Apache-2.0
"""One rank of benchmarks/measured_over_simulated.py: collectives as planned, timed from the last rank's coming on.

Arguments: the topology's file, rounds, then sizes. Each rank prints one line of JSON: by collective and size, when it
came to each round and when it was done; rank 0 says besides what the simulator takes for the schedule that ran.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import hemiola as hm

KINDS: tuple[hm.Kind, ...] = ("all_reduce", "all_gather", "reduce_scatter")
#: Operations follow each other for so many bytes, beside which what a NIC lets pass unpaid after a pause is little.
_AT_ONCE_BYTES = 16 << 20


def operation_of(
    comm: hm.Communicator, kind: str, nbytes: int
) -> tuple[Callable[[], object], Callable[[], int]]:
    """Return an operation on a buffer of so many bytes in all, and what counts its wrong elements."""
    n, count = comm.rank_count, nbytes // 4 // comm.rank_count * comm.rank_count
    whole = np.full(count, 1.0 + comm.rank, np.float32)
    if kind == "all_gather":
        part = whole[: count // n].copy()
        expected = np.repeat(np.arange(1, n + 1), count // n)
        return lambda: comm.all_gather(part, out=whole), lambda: int((whole != expected).sum())
    out = np.full(count if kind == "all_reduce" else count // n, -1.0, np.float32)
    total = n * (n + 1) / 2
    if kind == "all_reduce":
        return lambda: comm.all_reduce(whole, out=out), lambda: int((out != total).sum())
    return lambda: comm.reduce_scatter(whole, out=out), lambda: int((out != total).sum())


def measured(
    comm: hm.Communicator, network: hm.Topology, kind: hm.Kind, nbytes: int, rounds: int
) -> dict[str, Any]:
    """Return one row's figures."""
    operation, wrong = operation_of(comm, kind, nbytes)
    operation()  # connects
    figures: dict[str, Any] = {"wrong": wrong(), "repeats": max(1, _AT_ONCE_BYTES // nbytes), "spans": []}
    for _ in range(rounds):
        comm.barrier()
        came_s = time.monotonic()
        for _ in range(figures["repeats"]):
            operation()
        figures["spans"].append((came_s, time.monotonic()))
    if comm.rank == 0:
        plan = comm.plan(kind, nbytes)
        figures["planned"] = plan.alternatives[0].label if plan.alternatives else ""
        figures["simulated_s"] = hm.simulate(plan.schedule, network, nbytes).seconds
    return figures


def main() -> None:
    """Measure every row."""
    network = hm.Topology.load(sys.argv[1])
    with hm.init(topology=network, timeout_s=120, adapt="none") as comm:
        rounds, sizes = int(sys.argv[2]), [int(size) for size in sys.argv[3:]]
        rows = {
            f"{kind} {size}": measured(comm, network, kind, size, rounds) for kind in KINDS for size in sizes
        }
        comm.barrier()  # rank 0 keeps everybody's plans, and stays until all have asked
    print(json.dumps(rows), flush=True)


if __name__ == "__main__":
    main()
