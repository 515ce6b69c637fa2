# SPDX-License-Identifier: Apache-2.0
"""Where the chunks of a collective lie in a rank's input and output: before, and in the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hemiola._core import Collective

#: A place in memory: rank, buffer (i for input, o for output, s for scratch), offset in chunks.
Cell = tuple[int, str, int]

#: The names that MSCCL and MSCCL++ have for collectives that need no root.
KINDS = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "reducescatter": "reduce_scatter",
    "reduce_scatter": "reduce_scatter",
    "alltoall": "all_to_all",
}


@dataclass(frozen=True)
class Layout:
    """A collective, and the offsets of its chunks.

    kind : the collective's name here.
    rank_count, total : ranks, and chunks of the larger of input and output.
    in_place : input and output share memory.
    is_dealt : chunk c belongs to rank c mod rank_count, instead of to a block of chunks (TACOS).
    """

    kind: str
    rank_count: int
    total: int
    in_place: bool
    is_dealt: bool = False

    @property
    def per_rank(self) -> int:
        """Chunks of a rank's part."""
        return self.total // self.rank_count

    @property
    def chunk_count(self) -> int:
        """Chunks of the collective: an all-to-all has a row of them for each rank that sends."""
        return self.total * self.rank_count if self.kind == "all_to_all" else self.total

    @property
    def adds(self) -> bool:
        """Whether values are added up."""
        return self.kind in ("all_reduce", "reduce_scatter")

    @property
    def input_size(self) -> int:
        """Chunks of a rank's input."""
        return self.per_rank if self.kind == "all_gather" else self.total

    @property
    def output_size(self) -> int:
        """Chunks of a rank's output."""
        return self.per_rank if self.kind == "reduce_scatter" else self.total

    def owner(self, chunk: int) -> int:
        """Return the rank that has a chunk before, or keeps the sum of it; of an all-to-all the sender."""
        if self.kind == "all_to_all":
            return chunk // self.total
        if self.kind == "all_reduce" or self.is_dealt:
            return chunk % self.rank_count
        return chunk // self.per_rank

    def collective(self) -> Collective:
        """Return the collective as schedules have it."""
        if self.kind == "all_to_all":
            return Collective.make(self.kind, self.rank_count, self.chunk_count)
        owners = [self.owner(chunk) for chunk in range(self.chunk_count)]
        return Collective.with_owners(self.kind, self.rank_count, owners)

    def cell(self, rank: int, buffer: str, offset: int) -> Cell:
        """Return a place by its one name: in place, an input is a part of the output, or the other way round."""
        if not self.in_place or buffer == "s":
            return rank, buffer, offset
        if self.kind == "reduce_scatter":
            return (rank, "i", rank * self.per_rank + offset) if buffer == "o" else (rank, "i", offset)
        if self.kind == "all_gather" and buffer == "i":
            return rank, "o", self._own(rank, offset)
        return rank, "o", offset

    def before(self) -> Iterator[tuple[Cell, int]]:
        """Yield each place that holds something before, and its chunk."""
        for rank in range(self.rank_count):
            for offset in range(self.input_size):
                yield self.cell(rank, "i", offset), self._input_chunk(rank, offset)

    def after(self) -> Iterator[tuple[Cell, int]]:
        """Yield each place of the outputs, and the chunk that it must hold in the end."""
        for rank in range(self.rank_count):
            for offset in range(self.output_size):
                yield self.cell(rank, "o", offset), self._output_chunk(rank, offset)

    def _own(self, rank: int, index: int) -> int:
        """Return which chunk of all is a rank's own one of that index."""
        return index * self.rank_count + rank if self.is_dealt else rank * self.per_rank + index

    def _input_chunk(self, rank: int, offset: int) -> int:
        if self.kind == "all_gather":
            return self._own(rank, offset)
        return rank * self.total + offset if self.kind == "all_to_all" else offset

    def _output_chunk(self, rank: int, offset: int) -> int:
        if self.kind == "reduce_scatter":
            return rank * self.per_rank + offset
        if self.kind == "all_to_all":
            sender, index = divmod(offset, self.per_rank)
            return sender * self.total + rank * self.per_rank + index
        return offset
