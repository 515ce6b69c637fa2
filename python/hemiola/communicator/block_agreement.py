# SPDX-License-Identifier: Apache-2.0
"""How ranks agree about blocks of any sizes: each tells all others what it gives and expects, and all judge alike."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

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


def words_of_blocks(
    call: str, given: object, taken: object, n: int, schedule: Schedule | None
) -> Words | Complaint:
    """Return what this rank tells about its lists of n arrays, or what is wrong with them."""
    sizes, dtypes, element_bytes = [], set(), 0
    for name, arrays in (("x", given), ("out", taken)):
        if not isinstance(arrays, (list, tuple)) or len(arrays) != n:
            found = f"{len(arrays)} of them" if isinstance(arrays, (list, tuple)) else repr(arrays)
            wrong = Complaint(f"expected a list with an array for each of {n} ranks as {name}, found {found}")
            return arrays if isinstance(arrays, Complaint) else wrong
        for rank, array in enumerate(arrays):
            try:
                size, dtype, one = _elements(array, is_written=name == "out")
            except ArgumentError as error:
                return Complaint(f"{name} for rank {rank}: {error}")
            sizes.append(size)
            dtypes.add(dtype)
            element_bytes = max(element_bytes, one)
    if len(dtypes) > 1:
        return Complaint(f"{call}: expected blocks of one dtype, found {', '.join(sorted(dtypes))}")
    return words(sizes, element_bytes, dtypes.pop(), schedule)


def _elements(array: object, *, is_written: bool) -> tuple[int, str, int]:
    """Return an array's number of elements, the name of their type, and the bytes of one; raise ArgumentError where its
    bytes cannot be moved, or written."""
    if isinstance(array, np.ndarray):
        size, dtype, one, flags = array.size, _name_of(array.dtype), array.dtype.itemsize, array.flags
        if array.dtype.hasobject:
            raise ArgumentError(f"expected elements that are not Python objects, found {dtype}")
        if not flags.c_contiguous:
            raise ArgumentError("expected a contiguous array, found one that is not; pass a copy")
    else:
        memory, size, dtype = bytes_of_array(array)
        one, flags = memory.size // max(size, 1), memory.flags
    if is_written and not flags.writeable:
        raise ArgumentError("expected an array that can be written to, found one that cannot")
    return size, dtype, one


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
    gives, expects, rest = every[:, :n], every[:, n : 2 * n], every[:, 2 * n + 1 :]
    if not (gives == expects.T).all():
        giver, taker = np.argwhere(gives != expects.T)[0]
        raise MismatchError(
            f"{call}: rank {giver} gives rank {taker} {gives[giver, taker]} elements, rank {taker} expects "
            f"{expects[taker, giver]} of rank {giver}; sizes must fit together"
        )
    for rank in np.flatnonzero((rest != rest[0]).any(axis=1)):
        first, other = (row[1:].tobytes().rstrip(b"\0").decode() for row in (rest[0], rest[rank]))
        if first != other:
            raise MismatchError(
                f"{call}: rank 0 has blocks of {first}, rank {rank} of {other}; dtypes must be equal"
            )
        raise MismatchError(
            f"{call}: rank {rank} has another schedule than rank 0; pass the same on all ranks"
        )
    sizes = BlockSizes(n, (gives * every[:, 2 * n].max()).tobytes())
    if schedule is not None and sizes.total:
        _check_schedule(call, schedule, sizes)
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


def _check_schedule(call: str, schedule: Schedule, sizes: BlockSizes) -> None:
    """Raise where a schedule does not have these blocks; all ranks have the same."""
    has = np.asarray(schedule.chunk_weights).reshape(*sizes.table.shape, -1).sum(axis=2)
    for src, dst in np.argwhere(has != sizes.table):
        raise MismatchError(
            f"{call}: the schedule has {has[src, dst]} bytes from rank {src} to rank {dst}, the block there has "
            f"{sizes.table[src, dst]}; plan for the sizes of these blocks"
        )
