"""One rank's arithmetic of an eight-bit all-reduce: its messages, and the average of its own part. It moves nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemiola._core import codecs as core

#: Elements that share a scale, and the bytes that a whole block takes in a message.
BLOCK, BLOCK_BYTES = 256, 260

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]


class Blocks:
    """The messages of an array of one size among so many ranks. Each rank owns a part of whole blocks, the last ranks
    shorter ones or none. A message to or from one has `part_bytes`, of which a shorter part fills the beginning.

    Attributes
    ----------
    sent, received : uint8[rank_count * part_bytes], every rank's part from here, and this rank's part from every rank;
        later `received` takes every owner's result.
    result : uint8[part_bytes], the part that this rank has summed.
    """

    def __init__(self, size: int, rank: int, rank_count: int) -> None:
        self._size, self._rank, self._rank_count = size, rank, rank_count
        blocks = -(-size // (rank_count * BLOCK))
        self._part, self.part_bytes = blocks * BLOCK, blocks * BLOCK_BYTES
        self.sent: Bytes = np.zeros(rank_count * self.part_bytes, np.uint8)
        self.received: Bytes = np.empty_like(self.sent)
        self.result: Bytes = np.zeros(self.part_bytes, np.uint8)
        self._before: Floats | None = None

    def fits(self, size: int, rank: int, rank_count: int) -> bool:
        """Return whether these are the messages of such a call."""
        return (self._size, self._rank, self._rank_count) == (size, rank, rank_count)

    def quantize(self, x: Floats, rest: Floats) -> None:
        """Write the messages to all other ranks, and leave the errors in `rest`; `take_back` undoes that."""
        if self._before is None:
            self._before = np.empty_like(rest)
        self._before[:] = rest
        for rank in range(self._rank_count):
            if rank != self._rank:
                core.quantize(x[self._place(rank)], rest[self._place(rank)], self._message(self.sent, rank))

    def sum_up(self, x: Floats, rest: Floats, average: bool) -> None:
        """Add the received messages to this rank's own part, in the order of the ranks, and quantize the outcome."""
        # As in every average, terms are multiplied by a power of two first. So no sum overflows.
        power = 1 << (self._rank_count - 1).bit_length() if average else 1
        divisor = np.float32(self._rank_count / power if average else 1)
        place = self._place(self._rank)
        total: Floats = np.zeros_like(rest[place])
        for rank in range(self._rank_count):
            if rank == self._rank:
                total += (x[place] + rest[place]) / np.float32(power)
            else:
                core.restore(self._message(self.received, rank, self._rank), total, 1 / power, True)
        total /= divisor
        rest[place] = 0
        core.quantize(total, rest[place], self._message(self.result, 0, self._rank))
        rest[place] *= divisor * power

    def restore(self, out: Floats) -> None:
        """Write the result, of which all ranks have the same messages."""
        for rank in range(self._rank_count):
            core.restore(self._message(self.received, rank), out[self._place(rank)], 1.0, False)

    def take_back(self, rest: Floats) -> None:
        """Put back after a failure what `rest` was before `quantize`, bit for bit."""
        if self._before is not None:
            rest[:] = self._before

    def _place(self, rank: int) -> slice:
        return slice(min(rank * self._part, self._size), min((rank + 1) * self._part, self._size))

    def _message(self, of: Bytes, slot: int, owner: int | None = None) -> Any:
        """Return the bytes of an owner's part in a slot of `of`; by default each slot is its owner's."""
        place = self._place(slot if owner is None else owner)
        elements = place.stop - place.start
        begin = slot * self.part_bytes
        return of[begin : begin + elements + -(-elements // BLOCK) * 4]
