# SPDX-License-Identifier: Apache-2.0
"""What processes do that join each other by a name or at a store. Each returns what it saw."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from folder_store import FolderStore

import hemiola as hm
from hemiola.environment import RANK, RANK_COUNT

Place = Callable[[], tuple[int, int]]


def place() -> tuple[int, int]:
    """Return the rank and how many there are, as the launcher has told this process."""
    return RANK.value() or 0, RANK_COUNT.value() or 1


def summed(comm: hm.Communicator) -> float:
    """Add up rank + 1 of all ranks."""
    return float(comm.all_reduce(np.full(1000, comm.rank + 1.0))[999])


def two_by_name(name: str) -> list[float]:
    """All ranks meet by one name, and in the other order by another; `init`'s communicator is a third."""
    rank, count = place()
    one = hm.Communicator.join(rank, count, f"{name} 1", timeout_s=60)
    other = hm.Communicator.join(count - 1 - rank, count, f"{name} 2", timeout_s=60)
    world = hm.init(timeout_s=60)
    assert len({id(one), id(other), id(world)}) == 3
    assert other.rank == count - 1 - one.rank
    found = [summed(one), summed(other), summed(world)]
    one.close()
    return [*found, summed(other), summed(world)]


def at_a_store(folder: str) -> tuple[float, float]:
    """Meet at a store, and use a group of what comes of it after its parent is closed."""
    rank, count = place()
    comm = hm.Communicator.join(rank, count, FolderStore(folder), timeout_s=60)
    total, group = summed(comm), comm.group(range(count))
    comm.close()
    return total, summed(group)


def held() -> dict[str, int]:
    """Count what this process holds of the system."""
    return {
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": len(os.listdir("/proc/self/task")),
        "mappings": len(Path("/proc/self/maps").read_text().splitlines()),
    }


def again_and_again(folder: str, times: int) -> tuple[dict[str, int], dict[str, int]]:
    """Open, use and close communicators; return what is held after the first few, and in the end."""
    rank, count = place()
    store = FolderStore(folder)
    early: dict[str, int] = {}
    for number in range(times):
        comm = hm.Communicator.join(rank, count, store, timeout_s=60)
        comm.start_all_reduce(np.ones(100_000, np.float32)).wait()
        comm.close()
        del comm
        if number == 3:
            early = held()
    return early, held()


def told(call: Callable[[], Any]) -> tuple[str, str]:
    """Return the error that a call raises."""
    try:
        call()
    except hm.HemiolaError as error:
        return type(error).__name__, str(error)
    return "", ""


def different_counts(folder: str) -> tuple[str, str]:
    rank, count = place()
    store = FolderStore(folder)
    return told(lambda: hm.Communicator.join(rank, count - (rank == 0), store, timeout_s=60))


def different_options(folder: str) -> tuple[str, str]:
    rank, count = place()
    store = FolderStore(folder)
    return told(lambda: hm.Communicator.join(rank, count, store, timeout_s=60, keep_inputs=rank != 1))


def one_does_not_come(folder: str) -> tuple[tuple[str, str], float]:
    """The others meet, then wait for the last rank, which stays away, and meet without it again."""
    rank, count = place()
    store = FolderStore(folder)
    if rank == count - 1:
        return ("", ""), 0.0
    hm.Communicator.join(rank, count - 1, store, timeout_s=60).close()
    seen = told(lambda: hm.Communicator.join(rank, count, store, timeout_s=2))
    return seen, summed(hm.Communicator.join(rank, count - 1, store, timeout_s=60))


def wrong_places(name: str) -> list[tuple[str, str]]:
    return [
        told(lambda: hm.Communicator.join(2, 2, name)),
        told(lambda: hm.Communicator.join(-1, 2, name)),
        told(lambda: hm.Communicator.join(0, 0, name)),
    ]
