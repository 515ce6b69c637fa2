# SPDX-License-Identifier: Apache-2.0
"""A lane: the work of all ranks on some of a schedule's chunks, as one sequence of operations per rank.

Chunks never meet, so lanes share nothing but buffers. In a step, a rank puts its chunks into other ranks' memory,
signals, waits for the others' signals, and adds or copies the messages that have landed:

    step t    put put | nop signal signal | wait wait nop | re copy | (nop)

A message lands in its slot where all earlier accesses of the slot are known to be over, and else in scratch. "Known"
is a matter of vector clocks: a rank's knowledge of another comes with the signals for which it has waited. Its clock
counts meetings of its threads (`nop`), as in `mscclpp_clocks`, which judges the outcome independently.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

#: Sums of one operation: itself and as many others as the executor has room for.
_MOST_ADDENDS = 8


@dataclass(frozen=True, order=True)
class Cell:
    """A piece of a rank's input ('i'), output ('o') or scratch ('s'), in units."""

    rank: int
    buffer: str
    start: int
    size: int


@dataclass(frozen=True)
class Act:
    """An operation before it has numbers for channels and buffers; `peers` are those of a signal or a wait."""

    name: str
    reads: tuple[Cell, ...] = ()
    writes: tuple[Cell, ...] = ()
    peers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Move:
    """A transfer between two cells."""

    source: Cell
    target: Cell
    reduce: bool


@dataclass
class _Accesses:
    """Who has touched a cell since when: the last writer, and the readers after it."""

    writer: tuple[int, int]
    readers: dict[int, int] = field(default_factory=dict)


class Lane:
    """Writes the sequences of one lane, step by step."""

    def __init__(self, rank_count: int, new_scratch: Callable[[int, int], Cell]) -> None:
        """`new_scratch(rank, size)` gives out scratch that no other lane uses."""
        self.acts: list[list[Act]] = [[] for _ in range(rank_count)]
        self.greeted: list[list[int]] = [
            [] for _ in range(rank_count)
        ]  #: the ranks to which a rank says first that it has started
        self._new_scratch = new_scratch
        #: Row r: the latest stretch of each rank that r's threads know to be over; -1 before its start.
        self._known = np.full((rank_count, rank_count), -1, np.int64)
        np.fill_diagonal(self._known, 0)
        self._coming: list[list[NDArray[np.int64]]] = [[] for _ in range(rank_count)]
        self._is_dirty = [False] * rank_count
        self._accesses: dict[Cell, _Accesses] = {}
        self._scratch: defaultdict[tuple[int, int], list[Cell]] = defaultdict(list)

    def copy(self, pairs: Sequence[tuple[Cell, Cell]]) -> None:
        """Copy between places of a rank, before the first step or after the last."""
        for rank in sorted({source.rank for source, _ in pairs}):
            self._meet_if_dirty(rank)
        for source, target in pairs:
            self._combine(source.rank, Act("copy", (source,), (target,)))

    def step(self, moves: Sequence[Move]) -> None:
        """Add a step of a schedule: all reads come before all writes."""
        senders = sorted({move.source.rank for move in moves})
        for rank in senders:
            self._meet_if_dirty(rank)
        self._await_starts(moves)
        for move in moves:
            self._read(move.source.rank, move.source)
        landed = self._put(moves)
        arriving = self._signal(moves, senders)
        for rank in sorted({move.target.rank for move in moves}):
            self._receive(rank, arriving[rank], landed[rank])

    def _await_starts(self, moves: Sequence[Move]) -> None:
        """Have a rank wait for the start of those into whose memory it has never written."""
        strangers: defaultdict[int, list[int]] = defaultdict(list)
        for move in moves:
            a, b = move.source.rank, move.target.rank
            if self._known[a, b] < 0 and b not in strangers[a]:
                strangers[a].append(b)
        for rank, others in strangers.items():
            for other in others:
                self.greeted[other].append(rank)
                start = np.full(len(self._known), -1, np.int64)
                start[other] = 0
                self._coming[rank].append(start)
            if others:
                self.acts[rank].append(Act("wait", peers=tuple(others)))
                self._meet(rank)

    def _put(self, moves: Sequence[Move]) -> defaultdict[int, list[tuple[Move, Cell]]]:
        """Put each message where it may land; return by receiver what waits in scratch."""
        landed: defaultdict[int, list[tuple[Move, Cell]]] = defaultdict(list)
        for move in moves:
            rank, to = move.source.rank, move.target.rank
            cell = move.target
            if move.reduce or not self._is_free(rank, cell):
                cell = self._landing_place(rank, to, cell.size)
                landed[to].append((move, cell))
            self._write(rank, cell)
            self.acts[rank].append(Act("copy" if rank == to else "put", (move.source,), (cell,)))
        return landed

    def _landing_place(self, rank: int, to: int, size: int) -> Cell:
        """Return scratch of `to` whose last use is known to `rank` to be over."""
        cells = self._scratch[to, size]
        for cell in cells:
            if self._is_free(rank, cell):
                return cell
        cells.append(self._new_scratch(to, size))
        return cells[-1]

    def _signal(
        self, moves: Sequence[Move], senders: Sequence[int]
    ) -> defaultdict[int, list[tuple[int, NDArray[np.int64]]]]:
        """Have senders tell receivers; return by receiver who tells it, and what the sender knows."""
        arriving: defaultdict[int, list[tuple[int, NDArray[np.int64]]]] = defaultdict(list)
        for rank in senders:
            self._meet(rank)
            others = sorted({move.target.rank for move in moves if move.source.rank == rank} - {rank})
            for other in others:
                arriving[other].append((rank, self._known[rank].copy()))
            if others:
                self.acts[rank].append(Act("signal", peers=tuple(others)))
        return arriving

    def _receive(
        self,
        rank: int,
        arriving: Sequence[tuple[int, NDArray[np.int64]]],
        landed: Sequence[tuple[Move, Cell]],
    ) -> None:
        if arriving:
            self.acts[rank].append(Act("wait", peers=tuple(sender for sender, _ in arriving)))
            self._coming[rank] += [clock for _, clock in arriving]
            self._is_dirty[rank] = True
        sums: dict[Cell, list[Cell]] = {}
        copies: list[tuple[Cell, Cell]] = []
        for move, cell in landed:
            if move.reduce:
                sums.setdefault(move.target, []).append(cell)
            else:
                copies.append((cell, move.target))
        if landed:
            self._meet_if_dirty(rank)
        for cell, target in copies:
            self._combine(rank, Act("copy", (cell,), (target,)))
        while sums:
            # A second sum into a cell reads the first, so the rank's threads meet in between.
            for target, cells in list(sums.items()):
                self._combine(rank, Act("re", (target, *cells[:_MOST_ADDENDS]), (target,)))
                sums[target] = cells[_MOST_ADDENDS:]
            sums = {target: cells for target, cells in sums.items() if cells}
            if sums:
                self._meet(rank)

    def _combine(self, rank: int, act: Act) -> None:
        for cell in act.reads:
            self._read(rank, cell)
        for cell in act.writes:
            self._write(rank, cell)
        self.acts[rank].append(act)
        self._is_dirty[rank] = True

    def _meet_if_dirty(self, rank: int) -> None:
        if self._is_dirty[rank]:
            self._meet(rank)

    def _meet(self, rank: int) -> None:
        """Let a rank's threads meet: all know then what each did and heard."""
        self.acts[rank].append(Act("nop"))
        for clock in self._coming[rank]:
            np.maximum(self._known[rank], clock, out=self._known[rank])
        self._coming[rank].clear()
        self._known[rank, rank] += 1
        self._is_dirty[rank] = False

    def _at(self, cell: Cell) -> _Accesses:
        """Return a cell's accesses; before the first, its rank's caller may use it until the rank starts."""
        return self._accesses.setdefault(cell, _Accesses((cell.rank, 0)))

    def _read(self, rank: int, cell: Cell) -> None:
        self._at(cell).readers[rank] = int(self._known[rank, rank]) + 1

    def _write(self, rank: int, cell: Cell) -> None:
        self._at(cell)  # its start stays known through the write's own knowledge
        self._accesses[cell] = _Accesses((rank, int(self._known[rank, rank]) + 1))

    def _is_free(self, rank: int, cell: Cell) -> bool:
        """Whether `rank` knows that every access of a cell is over."""
        accesses, known = self._at(cell), self._known[rank]
        (writer, when), readers = accesses.writer, accesses.readers
        return bool(known[writer] >= when and all(known[reader] >= at for reader, at in readers.items()))
