# SPDX-License-Identifier: Apache-2.0
"""The sizes of an all-to-all's blocks, as part of the task, where ranks have different amounts for each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Schedule
from hemiola.errors import ArgumentError
from hemiola.units import format_bytes

#: A row for each sender, a column for each receiver.
SizeTable = NDArray[np.integer] | Sequence[Sequence[int]]

#: Of one buffer, or of all blocks together: a petabyte; larger ones are slips of the unit.
MOST_BYTES = 1 << 50


@dataclass(frozen=True)
class BlockSizes:
    """How many bytes each rank has for each other one. `of` makes it from a table.

    Attributes
    ----------
    rank_count : int.
    in_order : bytes of int64, of the block from the first rank to the first, to the second, and so on.
    """

    rank_count: int
    in_order: bytes

    @classmethod
    def of(cls, table: SizeTable, rank_count: int) -> BlockSizes:
        """Check a table.

        Parameters
        ----------
        table : array of int >= 0, of shape (rank_count, rank_count); entry [src, dst] is the block from src to dst.
        rank_count : int.

        Raises
        ------
        ArgumentError
            for another shape, entries that are no whole numbers or negative, or a sum above 2**50.
        """
        try:
            found = np.asarray(table)
        except ValueError as error:
            raise ArgumentError(f"expected {rank_count} rows of {rank_count} block sizes: {error}") from None
        if found.shape != (rank_count, rank_count):
            raise ArgumentError(
                f"expected block sizes of shape ({rank_count}, {rank_count}), found {found.shape}; give a row for "
                "each sender and a column for each receiver"
            )
        if found.dtype.kind not in "iu":
            raise ArgumentError(f"expected block sizes in whole bytes, found {found.dtype}")
        if (wrong := np.argwhere((found < 0) | (found > MOST_BYTES))).size:
            src, dst = wrong[0]
            raise ArgumentError(
                f"expected blocks of 0 … {MOST_BYTES} bytes, found {found[src, dst]} from rank {src} to rank {dst}"
            )
        sizes = cls(rank_count, found.astype(np.int64).tobytes())
        if (total := sum(sizes.table.ravel().tolist())) > MOST_BYTES:
            raise ArgumentError(f"expected blocks of {MOST_BYTES} bytes at most in all, found {total}")
        return sizes

    @property
    def in_words(self) -> str:
        """Their sizes: "blocks of 12 B to 3 MiB, 1 GiB in all"."""
        least, most = (format_bytes(int(size)) for size in (self.table.min(), self.table.max()))
        return f"blocks of {least} to {most}, {format_bytes(self.total)} in all,"

    @property
    def table(self) -> NDArray[np.int64]:
        """The sizes, in bytes, by sender and receiver; read-only."""
        return np.frombuffer(self.in_order, np.int64).reshape(self.rank_count, self.rank_count)

    @property
    def total(self) -> int:
        """The bytes of all blocks."""
        return int(self.table.sum())

    @property
    def per_rank(self) -> int:
        """The bytes of a rank's blocks on average, rounded up: the buffer size of the task."""
        return -(-self.total // self.rank_count)

    def given_to(self, schedule: Schedule) -> Schedule:
        """Give a schedule of an all-to-all these blocks: its chunks get their sizes as weights.

        Parameters
        ----------
        schedule : Schedule of an all_to_all, with as many chunks for each block.

        Returns
        -------
        Schedule. A block's chunks differ by at most a byte. Without any bytes it is the schedule as it was.
        """
        if self.total == 0:
            return schedule
        pieces = schedule.chunk_count // self.rank_count**2
        ends = np.outer(self.table.ravel(), np.arange(pieces + 1)) // pieces
        weights = np.diff(ends, axis=1).ravel()
        return Schedule.from_transfers(
            schedule.collective, schedule.transfers, chunk_weights=weights.tolist()
        )
