# SPDX-License-Identifier: Apache-2.0
"""How ranks agree about blocks of any sizes: each tells all others what it gives and expects, and all judge alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Complaint, Schedule, bytes_of_array
from hemiola.algorithms.block_sizes import BlockSizes
from hemiola.communicator.arguments import schedule_of
from hemiola.errors import ArgumentError, MismatchError

#: A rank's: for each rank the elements that it gives, and then those that it expects; the bytes of an element, the hash
#: of its schedule, and the name of its dtype.
Words = NDArray[np.int64]

#: Of a dtype's name.
_NAME_BYTES = 24


_name_of = cache(str)


@dataclass(frozen=True, slots=True)
class Block:
    """An array's bytes, where they lie, whatever type lies there: what is only moved need not be known; how many
    elements it has, and the name of their type."""

    memory: NDArray[np.uint8]
    size: int
    dtype: str

    @classmethod
    def of(cls, array: object) -> Block:
        """Show the memory of whatever other collectives take as an array, and of NumPy's arrays of any type.

        Raises ArgumentError for what is none, has gaps, or is of Python objects.
        """
        if not isinstance(array, np.ndarray):
            return cls(*bytes_of_array(array))
        if not array.flags.c_contiguous:
            raise ArgumentError("expected a contiguous array, found one that is not; pass a copy")
        if array.dtype.hasobject:
            raise ArgumentError(f"expected elements that are not Python objects, found {array.dtype}")
        return cls(array.reshape(-1).view(np.uint8), array.size, _name_of(array.dtype))


def blocks(name: str, arrays: object, n: int) -> list[Block] | Complaint:
    """Return the memory of what should be a contiguous array for each rank, or what is wrong with it."""
    wrong = arrays if isinstance(arrays, Complaint) else _not_a_list(name, arrays, n)
    if wrong is not None:
        return wrong
    found = []
    for rank, array in enumerate(cast("Sequence[object]", arrays)):
        try:
            found.append(Block.of(array))
        except ArgumentError as error:
            return Complaint(f"{name} for rank {rank}: {error}")
    return found


def words_of_blocks(
    call: str, given: list[Block] | Complaint, taken: list[Block] | Complaint, schedule: Schedule | None
) -> Words | Complaint:
    """Return what this rank tells about its blocks, or what is wrong with them."""
    if isinstance(given, Complaint):
        return given
    if isinstance(taken, Complaint):
        return taken
    dtypes = {block.dtype for block in (*given, *taken)}
    if len(dtypes) > 1:
        return Complaint(f"{call}: expected blocks of one dtype, found {', '.join(sorted(dtypes))}")
    if any(not block.memory.flags.writeable for block in taken):
        return Complaint(f"{call}: expected arrays that can be written to as out, found one that cannot")
    element_bytes = max(block.memory.size // max(block.size, 1) for block in (*given, *taken))
    sizes = [block.size for block in (*given, *taken)]
    return words(sizes, element_bytes, next(iter(dtypes)), schedule)


def words(sizes: Sequence[int], element_bytes: int, dtype: str, schedule: Schedule | None = None) -> Words:
    """Return what a rank tells: the elements that it gives each rank, and then those that it expects of each."""
    name = dtype.encode()[:_NAME_BYTES].ljust(_NAME_BYTES, b"\0")
    told = [*sizes, element_bytes, 0 if schedule is None else hash(schedule)]
    return np.concatenate([np.array(told, np.int64), np.frombuffer(name, np.int64)])


def words_count(n: int) -> int:
    """Return how many numbers a rank of n tells."""
    return 2 * n + 2 + _NAME_BYTES // 8


def agreed_sizes(call: str, every: Words, schedule: Schedule | None) -> BlockSizes:
    """Return the bytes of all blocks; raise MismatchError where ranks do not fit together, the same on all of them."""
    n = len(every)
    gives, expects, dtypes = every[:, :n], every[:, n : 2 * n], every[:, 2 * n + 2 :]
    for giver, taker in np.argwhere(gives != expects.T):
        raise MismatchError(
            f"{call}: rank {giver} gives rank {taker} {gives[giver, taker]} elements, rank {taker} expects "
            f"{expects[taker, giver]} of rank {giver}; sizes must fit together"
        )
    for rank in np.flatnonzero((dtypes != dtypes[0]).any(axis=1)):
        first, other = (row.tobytes().rstrip(b"\0").decode() for row in (dtypes[0], dtypes[rank]))
        raise MismatchError(
            f"{call}: rank 0 has blocks of {first}, rank {rank} of {other}; dtypes must be equal"
        )
    sizes = BlockSizes.of(gives * int(every[:, 2 * n].max()), n)
    _check_schedules(call, every[:, 2 * n + 1], schedule, sizes)
    return sizes


def not_for_blocks(schedule: object, n: int) -> Complaint | None:
    """Return why a schedule cannot move blocks, if so."""
    if schedule is None:
        return None
    if not isinstance(schedule, Schedule):
        return Complaint(f"expected a Schedule or None as schedule, found {type(schedule).__name__}")
    if schedule.collective.kind != "all_to_all" or schedule.rank_count != n:
        found = f"one of {schedule.rank_count} ranks' {schedule.collective.kind}"
        return Complaint(f"expected a schedule of an all_to_all of {n} ranks, found {found}")
    checked = schedule_of(schedule, False)
    return checked if isinstance(checked, Complaint) else None


def _check_schedules(call: str, hashes: NDArray[np.int64], own: Schedule | None, sizes: BlockSizes) -> None:
    """Raise on all ranks where their schedules differ, or do not have these blocks."""
    for rank in np.flatnonzero(hashes != hashes[0]):
        raise MismatchError(
            f"{call}: rank {rank} has another schedule than rank 0; pass the same on all ranks"
        )
    if own is None or not sizes.total:
        return
    has = np.asarray(own.chunk_weights).reshape(*sizes.table.shape, -1).sum(axis=2)
    for src, dst in np.argwhere(has != sizes.table):
        raise MismatchError(
            f"{call}: the schedule has {has[src, dst]} bytes from rank {src} to rank {dst}, the block there has "
            f"{sizes.table[src, dst]}; plan for the sizes of these blocks"
        )


def _not_a_list(name: str, arrays: object, n: int) -> Complaint | None:
    """Return that something is no list of n, if so."""
    if isinstance(arrays, (list, tuple)) and len(arrays) == n:
        return None
    found = f"{len(arrays)} of them" if isinstance(arrays, (list, tuple)) else repr(arrays)
    return Complaint(f"expected a list with an array for each of {n} ranks as {name}, found {found}")
