# SPDX-License-Identifier: Apache-2.0
"""One rank of benchmarks/shared_nics.py: takes turns between the planner's choice and the flat ring.

Arguments: the topology's file, rounds, then sizes. Each rank prints one line of JSON: by size, its rounds' seconds of
both from the last rank's coming on, what its wire has carried of one operation, and its wrong elements.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import hemiola as hm

RING = "all_reduce_ring"
_LARGE, _SMALL_ROUNDS = 1 << 20, 15
COUNTERS = [Path(f"/sys/class/net/eth0/statistics/{way}_bytes") for way in ("tx", "rx")]


def on_interface() -> np.ndarray:
    """Return what this host's NIC has sent and received, as the kernel counts it."""
    return np.array([int(counter.read_text()) for counter in COUNTERS])


def carried(comm: hm.Communicator, operation: Callable[[], object]) -> dict[str, list[int]]:
    """Return the bytes that an operation sends to each rank and that come from there, and what the NIC counts."""
    comm.barrier()
    before, before_nic = comm.traffic(), on_interface()
    comm.barrier()
    operation()
    comm.barrier()
    after, after_nic = comm.traffic(), on_interface()
    return {
        "sent": np.subtract(after.sent_bytes, before.sent_bytes).tolist(),
        "received": np.subtract(after.received_bytes, before.received_bytes).tolist(),
        "interface": (after_nic - before_nic).tolist(),
    }


def timed(comm: hm.Communicator, operation: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Return when this rank came to the first operation, and when the last had ended; hosts share a clock."""
    comm.barrier()
    came_s = time.monotonic()
    for _ in range(repeats):
        operation()
    return came_s, time.monotonic()


def measured(comm: hm.Communicator, nbytes: int, rounds: int) -> dict[str, Any]:
    """Return one size's figures."""
    count = nbytes // 4
    x = np.full(count, 1.0 + comm.rank, np.float32)
    out = np.full(count, -1.0, np.float32)
    ways: dict[str, Callable[[], object]] = {
        "planned": lambda: comm.all_reduce(x, out=out),
        "ring": lambda: comm.all_reduce(x, out=out, schedule=RING),
    }
    repeats = max(1, (1 << 20) // nbytes)
    wrong, traffic = 0, {}
    for name, operation in ways.items():
        out[:] = -1.0
        operation()  # connects
        traffic[name] = carried(comm, operation)
        wrong += int((out != comm.rank_count * (comm.rank_count + 1) / 2).sum())
    spans: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(rounds if nbytes >= _LARGE else _SMALL_ROUNDS):
        for name, operation in ways.items():
            spans[name].append(timed(comm, operation, repeats))
    return {"spans": spans, "repeats": repeats, "wrong": wrong, "traffic": traffic}


def main() -> None:
    """Measure every size."""
    with hm.init(topology=sys.argv[1], timeout_s=120) as comm:
        rounds, sizes = int(sys.argv[2]), [int(size) for size in sys.argv[3:]]
        figures = {size: measured(comm, size, rounds) for size in sizes}
        comm.barrier()  # rank 0 keeps everybody's plans, and stays until all have asked
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
