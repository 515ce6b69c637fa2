# SPDX-License-Identifier: Apache-2.0
"""What a wire counts is what the schedule says, to the byte."""

from __future__ import annotations

import os

import numpy as np

import hemiola as hm

RANKS, NBYTES = 3, 12_012


def counted() -> dict[str, list[tuple[int, ...]]]:
    """Be a rank: run operations and say what each has added to the traffic."""
    comm = hm.init()
    x = np.ones(NBYTES // 4, np.float32)
    schedule = hm.algorithms.all_reduce_ring(comm.rank_count)
    own = np.full(NBYTES // 4, comm.rank, np.float32)
    added: dict[str, list[tuple[int, ...]]] = {}
    for name, run in {
        "all_reduce": lambda: comm.all_reduce(x, schedule=schedule),
        "broadcast": lambda: comm.broadcast(
            own, root=1, schedule=hm.algorithms.broadcast_direct(RANKS, root=1)
        ),
        "message": lambda: [
            comm.send(own, 1) if comm.rank == 0 else comm.recv(own, 0) if comm.rank == 1 else None
        ],
    }.items():
        before = comm.traffic()
        run()
        after = comm.traffic()
        added[name] = [
            tuple(np.subtract(after.sent_bytes, before.sent_bytes).tolist()),
            tuple(np.subtract(after.received_bytes, before.received_bytes).tolist()),
        ]
    wires = tuple(os.environ.get("HEMIOLA_WIRE", "shm").split(","))
    for rank, carrier in enumerate(after.carriers):
        assert carrier == "" if rank == comm.rank else carrier.startswith(wires)
    assert after.as_dict()["sent_bytes"] == after.sent_bytes
    return added


def test_bytes_to_and_from_each_rank_are_those_of_the_schedule() -> None:
    told = hm.launch(counted, RANKS)
    for rank in range(RANKS):
        to_next, from_last = [0] * RANKS, [0] * RANKS
        to_next[(rank + 1) % RANKS] = from_last[(rank - 1) % RANKS] = (
            4 * NBYTES // RANKS
        )  # 2 (n - 1) chunks of n
        assert told[rank]["all_reduce"] == [tuple(to_next), tuple(from_last)]
        sent = tuple(NBYTES * (rank == 1 and peer != 1) for peer in range(RANKS))
        received = tuple(NBYTES * (rank != 1 and peer == 1) for peer in range(RANKS))
        assert told[rank]["broadcast"] == [sent, received]
        assert told[rank]["message"] == [(0,) * RANKS, (0,) * RANKS]
