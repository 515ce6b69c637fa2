# SPDX-License-Identifier: Apache-2.0
"""What ranks do that bring their states together. Each returns what it saw."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

import hemiola as hm
from hemiola.communicator.healing import PART_BYTES


def state_of(rank: int, behind: list[int], parts: int) -> dict[str, np.ndarray]:
    """Return a state of some parts; ranks that are behind have another second half, and no step."""
    rng = np.random.default_rng(5)
    weights = rng.standard_normal(parts * PART_BYTES // 8)
    moments = rng.integers(0, 255, 1000, np.uint8)
    if rank in behind:
        weights[weights.size // 2 :] = -rank
    return {"weights": weights, "moments": moments, "step": np.array(0 if rank in behind else 17)}


def healed(behind: list[int], parts: int) -> tuple[int, bool]:
    """Heal twice; return the bytes that came, and whether the state is rank 0's."""
    comm = hm.init(timeout_s=60)
    state, wanted = state_of(comm.rank, behind, parts), state_of(0, [], parts)
    if comm.rank % 2:  # the order of names does not matter
        state = dict(reversed(state.items()))
    came = comm.heal(state)
    assert comm.heal(state) == 0
    return came, all(np.array_equal(state[name], wanted[name]) for name in wanted)


def errors(what: str) -> tuple[str, str]:
    """Pass a wrong state on rank 1; return the error, and go on."""
    comm = hm.init(timeout_s=60)
    state: Any = [np.ones(10), np.zeros(3, np.int32)]
    if comm.rank == 1:
        match what:
            case "size":
                state[1] = np.zeros(4, np.int32)
            case "dtype":
                state[0] = np.ones(10, np.float32)
            case "count":
                state = state[:1]
            case "strings":
                state[0] = np.array(["a"])
            case "gaps":
                state[0] = np.ones(20)[::2]
            case "read-only":
                state[0].flags.writeable = False
            case "no array":
                state = {"step": 3}
    try:
        comm.heal(state)
    except hm.HemiolaError as error:
        assert comm.all_reduce(np.ones(1))[0] == comm.rank_count
        return type(error).__name__, str(error)
    raise AssertionError("nothing was raised")


def changed() -> tuple[str, str]:
    """Rank 0 writes to its state while the others read it."""
    comm = hm.init(timeout_s=60)
    state = np.zeros(64 * PART_BYTES // 8) if comm.rank == 0 else np.ones(64 * PART_BYTES // 8)
    over = threading.Event()

    def write() -> None:
        while not over.is_set():
            state[-1000:] += 1

    writer = threading.Thread(target=write)
    if comm.rank == 0:
        writer.start()
    try:
        comm.heal(state)
    except hm.MismatchError as error:
        return type(error).__name__, str(error)
    finally:
        over.set()
        if comm.rank == 0:
            writer.join()
    return "", ""
