# SPDX-License-Identifier: Apache-2.0
"""Schedules as execution plans of MSCCL++ v0.10.0, which its executor runs on GPUs.

A rank's work is split into lanes of chunks (`mscclpp_lane`), and a lane into thread blocks one after the other, for the
executor has room for 64 operations and 16 channels in each. Semaphores hand a lane from one thread block to the next.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from hemiola._core import Schedule
from hemiola.arguments import typed
from hemiola.arguments.names import Op
from hemiola.errors import ArgumentError
from hemiola.export.layout import SYMMETRIC, Layout, layout_of, refuse_wrong
from hemiola.export.mscclpp_blocks import RankBlocks
from hemiola.export.mscclpp_lane import Cell, Lane, Move

_WHAT = "MSCCL++ plan"
#: Lanes where nobody says how many.
_LANES = 16
_NAMES = dict(zip(SYMMETRIC, ("allgather", "allreduce", "alltoall", "reducescatter"), strict=True))


@typed
def mscclpp_plan(
    schedule: Schedule,
    *,
    op: Op = "sum",
    name: str = "hemiola",
    in_place: bool | None = None,
    lanes: int | None = None,
) -> str:
    """Write a schedule as an execution plan of MSCCL++ v0.10.0.

    Parameters
    ----------
    schedule : of all_gather, all_reduce, all_to_all or reduce_scatter.
    op : sum; the executor knows no other.
    name : the plan's name.
    in_place : whether input and output are one buffer; by default they are, except in an all-to-all, where they cannot
        be.
    lanes : how many thread blocks of a rank work side by side, each on chunks of its own; by default a chunk each, at
        most 16.

    Returns
    -------
    str, JSON

    Raises
    ------
    ArgumentError
        If the collective has a root or is custom, ranks' shares differ, the operation is no sum, the schedule is
        wrong, or a number is out of range.

    Notes
    -----
    A buffer's size in bytes must be a multiple of 16 times the plan's `input_chunks`; the executor says so otherwise.
    Costs O(transfers × ranks / lanes) time. The memory for scratch is in the plan's `scratch_chunks`.
    """
    data = plan_data(schedule, op=op, name=name, in_place=in_place, lanes=lanes)
    return json.dumps(data, separators=(",", ":"))


def plan_data(
    schedule: Schedule,
    *,
    op: Op = "sum",
    name: str = "hemiola",
    in_place: bool | None = None,
    lanes: int | None = None,
) -> dict[str, Any]:
    """Return the document of `mscclpp_plan` before it is JSON."""
    if op != "sum":
        raise ArgumentError(
            f"{_WHAT}: expected the operation sum, found '{op}', which MSCCL++'s executor would take for a sum"
        )
    layout = layout_of(schedule, _WHAT)
    kind = schedule.collective.kind
    if in_place and kind == "all_to_all":
        raise ArgumentError(
            f"{_WHAT}: an all_to_all has an input and an output of its own; leave out in_place"
        )
    most = schedule.chunk_count
    if lanes is not None and not 1 <= lanes <= most:
        raise ArgumentError(f"{_WHAT}: expected lanes of 1 … {most}, the number of chunks, found {lanes}")
    refuse_wrong(schedule, _WHAT)
    in_place = kind != "all_to_all" if in_place is None else in_place
    return _Writer(schedule, layout, in_place, lanes or min(most, _LANES)).data(name)


class _Writer:
    def __init__(self, schedule: Schedule, layout: Layout, in_place: bool, lane_count: int) -> None:
        self._schedule, self._layout, self._in_place = schedule, layout, in_place
        self._kind, self._n = schedule.collective.kind, schedule.rank_count
        self._scratch = [0] * self._n  # units given out, by rank
        self._homes: dict[tuple[int, int, int], Cell] = {}
        self._lanes = [Lane(self._n, self._new_scratch) for _ in range(lane_count)]
        self._copy_in()
        self._step_by_step()
        self._copy_out()

    def data(self, name: str) -> dict[str, Any]:
        total, block = self._layout.unit_count, self._layout.block_units
        gets = {"all_gather": (block, total), "reduce_scatter": (total, block)}
        if self._kind == "all_to_all":
            gets["all_to_all"] = (block * self._n, block * self._n)
        inputs, outputs = gets.get(self._kind, (total, total))
        sizes = {"input_chunks": inputs, "output_chunks": outputs}
        return {
            "name": name,
            "collective": _NAMES[self._kind],
            "protocol": "Simple",
            "inplace": self._in_place,
            "reuse_resources": False,
            "gpus": [
                {
                    "id": rank,
                    **sizes,
                    "scratch_chunks": self._scratch[rank],
                    **RankBlocks(rank, self._lanes).data(),
                }
                for rank in range(self._n)
            ],
            "num_threads_per_block": 1024,
            "use_double_scratch_buffer": False,
            "buffer_alignment": 16,
            "min_message_size": 0,
            "max_message_size": 2**64 - 1,
        }

    def _new_scratch(self, rank: int, size: int) -> Cell:
        self._scratch[rank] += size
        return Cell(rank, "s", self._scratch[rank] - size, size)

    def _home(self, rank: int, chunk: int, slot: int = 0) -> Cell:
        """Return where a rank's slot of a chunk lies."""
        found = self._homes.get((rank, chunk, slot))
        if found is None:
            found = self._homes[rank, chunk, slot] = self._new_home(rank, chunk, slot)
        return found

    def _new_home(self, rank: int, chunk: int, slot: int) -> Cell:
        start, size = int(self._layout.start[chunk]), int(self._layout.size[chunk])
        if slot == 0 and self._kind == "all_to_all":
            src, dst = self._ends(chunk)
            if rank == src:
                return Cell(rank, "i", dst * self._layout.block_units + start, size)
            if rank == dst:
                return Cell(rank, "o", src * self._layout.block_units + start, size)
        elif slot == 0 and self._kind == "all_gather":
            return Cell(rank, "o", start, size)
        elif slot == 0 and (self._in_place or self._kind == "all_reduce"):
            return Cell(rank, "i" if self._in_place else "o", start, size)
        return self._new_scratch(rank, size)

    def _ends(self, chunk: int) -> tuple[int, int]:
        """Return which rank sends a chunk of an all-to-all, and which gets it."""
        pair = chunk * self._n * self._n // self._schedule.chunk_count
        return pair // self._n, pair % self._n

    def _chunks_of(self, rank: int) -> Iterator[tuple[int, int, int]]:
        """Yield the chunks that a rank owns, each with its start in the rank's share and its size."""
        for chunk in np.flatnonzero(np.asarray(self._schedule.collective.owner) == rank).tolist():
            yield (
                chunk,
                int(self._layout.start[chunk]) - rank * self._layout.block_units,
                int(self._layout.size[chunk]),
            )

    def _copy_in(self) -> None:
        """Copy the input to where the schedule works, unless it works in the input."""
        if self._in_place or self._kind == "all_to_all":
            return
        if self._kind == "all_gather":
            self._copy(
                (chunk, Cell(rank, "i", start, size), self._home(rank, chunk))
                for rank in range(self._n)
                for chunk, start, size in self._chunks_of(rank)
            )
            return
        self._copy(
            (chunk, Cell(rank, "i", start, size), self._home(rank, chunk))
            for rank in range(self._n)
            for chunk, (start, size) in enumerate(zip(*self._places(), strict=True))
        )

    def _copy_out(self) -> None:
        """Copy the result to the output, where the schedule does not leave it there."""
        if self._kind == "reduce_scatter" and not self._in_place:
            self._copy(
                (chunk, self._home(rank, chunk), Cell(rank, "o", start, size))
                for rank in range(self._n)
                for chunk, start, size in self._chunks_of(rank)
            )
        elif self._kind == "all_to_all":
            block = self._layout.block_units
            self._copy(
                (chunk, self._home(src, chunk), Cell(src, "o", src * block + start, size))
                for chunk, (start, size) in enumerate(zip(*self._places(), strict=True))
                for src, dst in [self._ends(chunk)]
                if src == dst
            )

    def _places(self) -> tuple[list[int], list[int]]:
        return self._layout.start.tolist(), self._layout.size.tolist()

    def _copy(self, copies: Iterable[tuple[int, Cell, Cell]]) -> None:
        """Have each chunk's lane copy it between two cells of a rank."""
        by_lane: defaultdict[int, list[tuple[Cell, Cell]]] = defaultdict(list)
        for chunk, source, target in copies:
            if source.size:
                by_lane[chunk % len(self._lanes)].append((source, target))
        for lane, pairs in by_lane.items():
            self._lanes[lane].copy(pairs)

    def _step_by_step(self) -> None:
        """Give each lane the transfers of its chunks, step after step, in the order of reductions."""
        rows = np.asarray(self._schedule.transfers)
        lane = rows["chunk"] % len(self._lanes)
        for number, writer in enumerate(self._lanes):
            moves: list[Move] = []
            last = -1
            for step, src, dst, chunk, reduce, *slots in rows[lane == number].tolist():
                if step != last:
                    writer.step(moves)
                    moves, last = [], step
                from_slot, to_slot = slots or (0, 0)
                source = self._home(src, chunk, from_slot)
                if source.size:
                    moves.append(Move(source, self._home(dst, chunk, to_slot), bool(reduce)))
            writer.step(moves)
