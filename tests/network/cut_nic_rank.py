# SPDX-License-Identifier: Apache-2.0
"""A rank that runs one collective while a NIC is cut, checks every element, and prints its times and its error."""

from __future__ import annotations

import json
import sys
import time

import numpy as np

import hemiola as hm

COLLECTIVE, COUNT, ELEMENTS, LIMIT_S = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
Array = np.ndarray[tuple[int], np.dtype[np.int64]]


def of(rank: int, turn: int) -> Array:
    """Return a rank's own array of a turn."""
    return np.arange(ELEMENTS, dtype=np.int64) * (rank + 1) + turn


def outcome(comm: hm.Communicator, turn: int, own: Array) -> Array:
    """Run the collective on a copy of `own`."""
    if COLLECTIVE == "broadcast":
        x = own.copy()
        return comm.broadcast(x, root=turn % comm.rank_count)
    if COLLECTIVE == "all_to_all":
        return comm.all_to_all(own.copy())
    return comm.all_reduce(own.copy())


def expected(comm: hm.Communicator, turn: int) -> Array:
    """Return what NumPy makes of all ranks' arrays."""
    everybody = [of(rank, turn) for rank in range(comm.rank_count)]
    if COLLECTIVE == "broadcast":
        return everybody[turn % comm.rank_count]
    if COLLECTIVE == "all_to_all":
        return np.concatenate([np.split(each, comm.rank_count)[comm.rank] for each in everybody])
    return np.sum(everybody, axis=0)


with hm.init(timeout_s=LIMIT_S) as comm:
    taken: list[float] = []
    error, lost, text = "", None, ""
    for turn in range(COUNT):
        own = of(comm.rank, turn)
        begin = time.monotonic()
        try:
            result = outcome(comm, turn, own)
        except hm.HemiolaError as raised:
            error, lost, text = type(raised).__name__, getattr(raised, "rank", None), str(raised)
        taken.append(time.monotonic() - begin)
        if error:
            break
        assert (result == expected(comm, turn)).all(), f"{COLLECTIVE} {turn} is wrong"
        if turn == 0:
            print("works", flush=True)
    print(json.dumps({"taken": taken, "error": error, "lost": lost, "text": text}), flush=True)
