# SPDX-License-Identifier: Apache-2.0
"""The two functions that LightGBM calls instead of its sockets, on a communicator.

Blocks are combined in the order of LightGBM's sockets. The last bits of a model's sums depend on it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemiola.communicator import Communicator

Bytes = NDArray[np.uint8]
Reduce = Callable[[Bytes, Bytes], None]

_INTS, _MEMORY = ctypes.POINTER(ctypes.c_int32), ctypes.c_void_p
REDUCE_SCATTER = ctypes.CFUNCTYPE(
    None, _MEMORY, ctypes.c_int32, ctypes.c_int, _INTS, _INTS, ctypes.c_int, _MEMORY, ctypes.c_int32, _MEMORY
)
ALL_GATHER = ctypes.CFUNCTYPE(
    None, _MEMORY, ctypes.c_int32, _INTS, _INTS, ctypes.c_int, _MEMORY, ctypes.c_int32
)
#: A reducer: a block, the block that it is combined with and into, bytes of an element, bytes of a block.
_REDUCER = ctypes.CFUNCTYPE(None, _MEMORY, _MEMORY, ctypes.c_int, ctypes.c_int32)
#: From here on, sockets of ranks that are no power of two pass blocks round a ring.
_RING_BYTES = 10 << 20


def shown(address: int, nbytes: int) -> Bytes:
    """Return LightGBM's memory as an array."""
    if not nbytes:
        return np.empty(0, np.uint8)
    return np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(address))


def reducer_at(reference: int, element_bytes: int) -> Reduce:
    """Return the reducer that LightGBM refers to, as a function that combines its first block with its second one."""
    call = _REDUCER(_MEMORY.from_address(reference).value or 0)

    def reduce(into: Bytes, other: Bytes) -> None:
        if into.nbytes:
            call(other.ctypes.data, into.ctypes.data, element_bytes, into.nbytes)

    return reduce


def combined(blocks: Sequence[Bytes], owner: int, reduce: Reduce, *, in_ring: bool) -> Bytes:
    """Combine one block of each rank in the order of the sockets, in their memory.

    Ranks that are no power of two first fold the last of them, each into the one before it. Those that are left halve
    their number until one is left. In a ring a block begins behind its owner, and ends there.
    """
    left, count = list(blocks), len(blocks)
    if in_ring:
        left = left[owner + 1 :] + left[: owner + 1]
        for last, block in pairwise(left):
            reduce(block, last)
        return left[-1]
    halves = 1 << (count.bit_length() - 1)
    for leader in range(count - 2, count - 2 * (count - halves) - 1, -2):
        reduce(left[leader], left.pop(leader + 1))
    while len(left) > 1:
        half = len(left) // 2
        for into, other in zip(left, left[half:], strict=False):
            reduce(into, other)
        del left[half:]
    return left[0]


def reduce_scatter(
    comm: Communicator, given: Bytes, begins: Any, sizes: Any, out: Bytes, reduce: Reduce, room: Bytes
) -> None:
    """Combine all ranks' memory block by block, and write the block of this rank.

    LightGBM shares features out evenly. So blocks travel in places of one size, about which ranks need not agree.
    `room` has two places for each rank."""
    n, me, longest = comm.rank_count, comm.rank, max(sizes[: comm.rank_count])
    there, here = room[: 2 * n * longest].reshape(2, n, longest)
    for rank in range(n):
        there[rank, : sizes[rank]] = given[begins[rank] : begins[rank] + sizes[rank]]
    comm.all_to_all(there, out=here)
    in_ring = given.nbytes >= _RING_BYTES and n & (n - 1) != 0
    out[: sizes[me]] = combined(list(here[:, : sizes[me]]), me, reduce, in_ring=in_ring)


def all_gather(comm: Communicator, given: Bytes, begins: Any, sizes: Any, out: Bytes) -> None:
    """Give all ranks the blocks of all."""
    blocks = [out[begins[rank] : begins[rank] + sizes[rank]] for rank in range(comm.rank_count)]
    in_place = np.may_share_memory(given, out)  # as LightGBM's all-reduce gathers
    comm.all_gather_blocks(given.copy() if in_place else given, blocks)
