"""Blocks of any sizes to every rank, by an all-to-all of equal ones that are as large as the largest.

The ranks tell each other all sizes first, so that a disagreement is an error on every rank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from hemiola._core import Complaint
from hemiola.communicator import Communicator
from hemiola.communicator.kinds import Array
from hemiola.errors import MismatchError

Blocks = Sequence[Array] | Complaint


def _sizes(parts: Blocks, rooms: Blocks, rank_count: int) -> Any:
    """Return how large the blocks are each way, or what is wrong with them."""
    if isinstance(parts, Complaint):
        return parts
    if isinstance(rooms, Complaint):
        return rooms
    if (len(parts), len(rooms)) != (rank_count, rank_count):
        return Complaint(f"expected {rank_count} blocks each way, found {len(parts)} and {len(rooms)}")
    return np.array([[one.size for one in parts], [one.size for one in rooms]], np.int64)


def exchange(
    comm: Communicator, parts: Blocks, rooms: Blocks, limit_s: float | None
) -> tuple[Callable[..., Any], Callable[[], None]]:
    """Agree on sizes, and return a call that moves the blocks and what is to be done once it is over.

    Parameters
    ----------
    comm : Communicator.
    parts, rooms : an array of one axis for each rank, what it is given and where what it gives goes; or what is wrong.
    limit_s : float, seconds, optional; how long agreeing may take.

    Raises
    ------
    MismatchError
        on every rank, where one gives another size than the other expects.
    """
    n = comm.rank_count
    sizes = _sizes(parts, rooms, n)
    every = comm.all_gather(sizes, out=np.empty((n, 2, n), np.int64), timeout_s=limit_s)
    for giver, taker in zip(*np.nonzero(every[:, 0, :] != every[:, 1, :].T), strict=True):
        raise MismatchError(
            f"all_to_all: rank {giver} gives rank {taker} {every[giver, 0, taker]} elements, rank {taker} expects "
            f"{every[taker, 1, giver]} of rank {giver}; sizes must fit together"
        )
    assert not isinstance(parts, Complaint)
    assert not isinstance(rooms, Complaint)
    block = int(every[:, 0, :].max(initial=0))
    given = np.zeros((n, block), parts[0].dtype)
    for part, row in zip(parts, given, strict=True):
        row[: part.size] = part
    got = np.empty((n, block), rooms[0].dtype)

    def unpack() -> None:
        for room, row in zip(rooms, got, strict=True):
            room[:] = row[: room.size]

    return partial(comm.all_to_all, given, out=got), unpack
