# SPDX-License-Identifier: Apache-2.0
"""What the ranks of the one-shot all-reduce's tests do."""

from __future__ import annotations

import numpy as np
from folder_store import FolderStore
from join_ranks import place

import hemiola as hm

#: Nothing, one element, some that do not divide, and more than a slice of any wire.
SIZES = (0, 1, 1000, 600_001)


def sum_in_one_shot(folder: str | None) -> list[list[bytes]]:
    """Return the bytes of each sum: of random floats in and out of place, of integers, and of an average. Ranks meet
    in a folder, if there is one."""
    comm = (
        hm.init(timeout_s=60)
        if folder is None
        else hm.Communicator.join(*place(), FolderStore(folder), timeout_s=60)
    )
    n = comm.rank_count
    found = []
    for schedule in (
        hm.algorithms.all_gather_direct(n).one_shot_all_reduce(),
        hm.algorithms.all_gather_ring_two_way(n).one_shot_all_reduce(),
    ):
        for size in SIZES:
            mine = np.random.default_rng(comm.rank).standard_normal(size).astype(np.float32)
            x, out = mine.copy(), np.empty_like(mine)
            comm.all_reduce(x, out=out, schedule=schedule)
            assert (x == mine).all(), "the input is as it was"
            whole = np.arange(size) * (comm.rank + 1)
            sums = [
                out,
                comm.all_reduce(x, schedule=schedule),
                comm.all_reduce(whole, schedule=schedule),
                comm.all_reduce(np.full(size, comm.rank, np.float64), op="avg", schedule=schedule),
            ]
            found.append([sum_.tobytes() for sum_ in sums])
    return found


def sum_sparsely() -> tuple[str, str]:
    """Ask for a coded program of a schedule with scratch; return the error's type and text."""
    comm = hm.init(timeout_s=60)
    schedule = hm.algorithms.all_gather_direct(comm.rank_count).one_shot_all_reduce()
    try:
        comm.all_reduce(np.zeros(1 << 16, np.float32), schedule=schedule, sparse=True)
    except hm.HemiolaError as error:
        return type(error).__name__, str(error)
    return "nothing", ""


def sum_small() -> tuple[list[float], list[float], str]:
    """Return sums of what the planner chose, asked for plain and sparse, and what it chose."""
    comm = hm.init(timeout_s=60)
    plain = comm.all_reduce(np.full(4, comm.rank + 1.0))
    sparse = comm.all_reduce(np.full(4, comm.rank + 1.0), sparse=True)
    return plain.tolist(), sparse.tolist(), comm.plan("all_reduce", 32).name
