# SPDX-License-Identifier: Apache-2.0
"""Messages between devices that leave zeros out. Their lengths are known before the first group begins: each rank's
device counts the nonzero elements of its input, and the ranks tell each other on the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hemiola.communicator import Communicator
from hemiola.planner.sparse_rule import MOST_DENSITY
from hemiola.torch.codecs import kernels
from hemiola.torch.device_origins import UNKNOWN, Origin, message_origins
from hemiola.torch.device_queue import DeviceQueue

_WORD, _TILE = 64, 4096
#: Integers of as many bytes as elements: zero is what has no bit.
_BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
#: A bitmap's prefixes have 32 bits.
_MOST_ELEMENTS = (1 << 31) - 1
#: Operations on dense data from one count to the next, at most.
_MOST_PAUSE = 64


def may_code(dtype: Any) -> bool:
    """Say whether messages of a type can leave zeros out."""
    return dtype.itemsize in _BITS


def coded_bytes(elements: int, capacity: int, element_bytes: int) -> int:
    """Return the length of a coded message: a bitmap, a count before every 4,096 elements, and room for values."""
    words, tiles = -(-elements // _WORD), -(-elements // _TILE)
    return 8 * words + 4 * (tiles + tiles % 2) + -(-capacity * element_bytes // 8) * 8


class DeviceCoding:
    """The lengths of a rank's messages in one program.

    Parameters
    ----------
    schedule : Schedule.
    comm : Communicator of the ranks on the host.
    elements : int, of a block, as `DeviceProgram` has it.
    dtype : torch.dtype that `may_code` takes.
    least_saving : float, bytes that a coded message has to save.
    """

    def __init__(
        self, schedule: Any, comm: Communicator, elements: int, dtype: Any, least_saving: float
    ) -> None:
        self._comm, self._bytes, self._least_saving = comm, dtype.itemsize, least_saving
        every = message_origins(schedule, elements, self._bytes)
        self._messages = every[comm.rank]
        parts = [
            part for messages in every for message in messages for part in message if part.ranks != UNKNOWN
        ]
        cuts = {part.place for part in parts} | {part.place + part.nbytes for part in parts}
        #: Elements of an input; between two neighbours they are counted together.
        self._cuts = np.array(sorted(cuts), np.int64) // self._bytes
        self._units = _units_of(self._cuts)
        self._pause = self._left_out = 0

    def capacities(self, input: Any) -> list[int | None]:
        """Return for each message how many values it has room for, None for a plain one; called by all ranks.

        Raises
        ------
        MismatchError, LostRankError, TimeoutError
            as of a collective on the host.

        Notes
        -----
        Waits for the device, and for all ranks. Where all data are dense, the next operations are plain without a
        count: one, then 2, 4 … 64.
        """
        if self._left_out > 0:
            self._left_out -= 1
            return [None] * len(self._messages)
        own = self._counted(input)
        every = np.empty((self._comm.rank_count, own.size), np.int64)
        self._comm.all_gather(own, out=every)
        is_dense = every.sum() >= MOST_DENSITY * every.shape[0] * np.diff(self._cuts).sum()
        self._pause = min(2 * self._pause or 1, _MOST_PAUSE) if is_dense else 0
        self._left_out = self._pause
        return [self._capacity(message, every) for message in self._messages]

    def _counted(self, input: Any) -> NDArray[np.int64]:
        """Return the nonzero elements between each two cuts."""
        begins, ends, owners = (torch.from_numpy(each).to(input.device) for each in self._units)
        counts = torch.zeros(len(begins), dtype=torch.int32, device=input.device)
        if len(begins):
            kernel = kernels().count_between
            kernel[(len(begins),)](input.view(_BITS[self._bytes]), begins, ends, counts, TILE=_TILE)
        found = torch.zeros(max(len(self._cuts) - 1, 0), dtype=torch.int64, device=input.device)
        return found.index_add_(0, owners, counts.to(torch.int64)).cpu().numpy()  # type: ignore[no-any-return]

    def _capacity(self, message: Sequence[Origin], every: NDArray[np.int64]) -> int | None:
        elements = sum(part.nbytes for part in message) // self._bytes
        if elements > _MOST_ELEMENTS:
            return None
        capacity = sum(self._most(part, every) for part in message)
        plain = elements * self._bytes
        saved = plain - coded_bytes(elements, capacity, self._bytes)
        return capacity if saved >= max(self._least_saving, (1 - MOST_DENSITY) * plain) else None

    def _most(self, part: Origin, every: NDArray[np.int64]) -> int:
        """Return how many nonzero elements a part has at most: at each place one, and together those of its ranks."""
        if part.ranks == UNKNOWN:
            return int(part.nbytes // self._bytes)
        begin, end = part.place // self._bytes, (part.place + part.nbytes) // self._bytes
        first, last = np.searchsorted(self._cuts, [begin, end])
        ranks = [rank for rank in range(len(every)) if part.ranks >> rank & 1]
        room = np.diff(self._cuts[first : last + 1])
        return int(np.minimum(room, every[ranks, first:last].sum(axis=0)).sum())


def _units_of(cuts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return begins and ends of at most a tile between two cuts, and which two these are."""
    units = [
        (low, min(low + _TILE, end), owner)
        for owner, (begin, end) in enumerate(pairwise(cuts.tolist()))
        for low in range(begin, end, _TILE)
    ]
    begins, ends, owners = np.array(units, np.int64).reshape(-1, 3).T.copy()
    return begins, ends, owners


class CodedMessage:
    """The memory of one coded message, and its kernels.

    Parameters
    ----------
    elements : torch.Tensor of one axis, what is sent, or where it lands.
    capacity : int, the values that it has room for.
    """

    def __init__(self, elements: Any, capacity: int) -> None:
        self._elements, self._capacity = elements.view(_BITS[elements.element_size()]), capacity
        size, device = elements.numel(), elements.device
        self._tiles = -(-size // _TILE)
        self.memory = torch.empty(
            coded_bytes(size, capacity, elements.element_size()), dtype=torch.uint8, device=device
        )
        index = 8 * -(-size // _WORD)
        values = index + 4 * (self._tiles + self._tiles % 2)
        self._words = self.memory[:index].view(torch.int64)
        self._starts = self.memory[index : index + 4 * self._tiles].view(torch.int32)
        self._values = self.memory[values:].view(self._elements.dtype)
        self._counts = torch.empty(self._tiles, dtype=torch.int32, device=device)

    def encoding(self, queue: DeviceQueue) -> list[Callable[[], None]]:
        """Return what is queued before it is sent."""
        triton, size = kernels(), self._elements.numel()
        scanned = (self._elements, self._words, self._counts, size)
        packed = (self._elements, self._starts, self._values, size, self._capacity)
        return [
            partial(queue.launch, triton.scan, self._tiles, scanned, {"SIDE": _WORD}),
            partial(
                queue.launch, triton.number, 1, (self._counts, self._starts, self._tiles), {"TILE": _TILE}
            ),
            partial(queue.launch, triton.compress, self._tiles, packed, {"TILE": _TILE}),
        ]

    def decoding(self, queue: DeviceQueue) -> list[Callable[[], None]]:
        """Return what is queued behind its arrival."""
        given = (
            self._words,
            self._starts,
            self._values,
            self._elements,
            self._elements.numel(),
            self._capacity,
        )
        fixed = {"adds": False, "TILE": _TILE}
        return [partial(queue.launch, kernels().expand, self._tiles, given, fixed)]
