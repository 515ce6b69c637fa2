# SPDX-License-Identifier: Apache-2.0
"""Counts the bytes between each two ranks while a collective runs on data in one process."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from papers.spccl.arrays import Floats


class Ports:
    """Counts messages between ranks. A phase begins when the one before has ended; in each the busiest port counts."""

    def __init__(self, rank_count: int) -> None:
        self._sent = np.zeros(rank_count, np.int64)
        self._received = np.zeros(rank_count, np.int64)
        self._before = 0

    def message(self, src: int, dst: int, nbytes: int) -> None:
        """Count a message."""
        self._sent[src] += nbytes
        self._received[dst] += nbytes

    def end_phase(self) -> None:
        """Begin another phase."""
        self._before = self.busiest_bytes
        self._sent[:] = 0
        self._received[:] = 0

    @property
    def busiest_bytes(self) -> int:
        """The bytes that the busiest port sends or receives, summed over phases."""
        return self._before + int(max(self._sent.max(), self._received.max()))


@dataclass(frozen=True)
class Summed:
    """An all-reduce's result on every rank, and the bytes of the busiest ports of its phases."""

    result: Floats
    port_bytes: int


def dense_bytes(rank_count: int, nbytes: int) -> float:
    """Return a port's bytes in an all-reduce of dense data: 2(p-1)/p of the buffer."""
    return 2 * (rank_count - 1) / rank_count * nbytes


def chunks(x: Floats, rank_count: int) -> list[Floats]:
    """Cut an array into a chunk per rank."""
    return np.array_split(x, rank_count)
