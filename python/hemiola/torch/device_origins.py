# SPDX-License-Identifier: Apache-2.0
"""From which ranks' inputs, and which places in them, the bytes of each message of a schedule come.

All ranks' programs are run side by side on memory that only notes this. So a rank knows beforehand which nonzero
elements a message may have, partial sums included, without a word from its sender."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from hemiola import _core
from hemiola.errors import ArgumentError

Instruction = tuple[int, int, int, int, int, int, int, int, int, int]
COPY, SEND, RECEIVE, COMBINE = range(4)
_INPUT = 0
#: Where a byte's origin is not known, any rank's elements may stand.
UNKNOWN = 0


class Origin(NamedTuple):
    """Neighbouring bytes: from where on they stand in inputs, and of which ranks, a bit each; UNKNOWN has none."""

    nbytes: int
    place: int
    ranks: int

    def cut(self, begin: int, end: int) -> Origin:
        """Return the bytes from one place to another."""
        return Origin(end - begin, self.place + begin, self.ranks)


def program_of(
    schedule: Any, rank: int, elements: int, element_bytes: int, *, in_place: bool, average: bool = False
) -> tuple[list[Instruction], list[int]]:
    """Return a rank's instructions, and the bytes of each region of its memory."""
    rows, nbytes = _core.instructions_of(
        schedule,
        rank,
        element_count=elements,
        element_bytes=element_bytes,
        in_place=in_place,
        average=average,
    )
    return [tuple(row) for row in rows.tolist()], list(nbytes)


def groups_of(rows: Sequence[Instruction]) -> list[list[Instruction]]:
    """Return the groups of messages that start together, and all else one by one, in order."""
    keyed = groupby(enumerate(rows), key=lambda each: each[1][1] if each[1][1] >= 0 else -1 - each[0])
    return [[row for _, row in group] for _, group in keyed]


def message_origins(schedule: Any, elements: int, element_bytes: int) -> list[list[list[Origin]]]:
    """Return for each rank, and each of its messages in the order of its program, the parts of it.

    Raises
    ------
    ArgumentError
        for a schedule whose messages do not meet.

    Notes
    -----
    Takes time in the instructions of all ranks; programs are compiled for each of them.
    """
    mail: defaultdict[tuple[int, int], deque[list[Origin]]] = defaultdict(deque)
    walks = [_Walk(schedule, rank, elements, element_bytes) for rank in range(schedule.rank_count)]
    while not all(walk.is_over for walk in walks):
        moved = [walk.go(mail) for walk in walks]
        if not any(moved):
            raise ArgumentError(
                "a schedule for devices: expected messages that meet, found ranks in a circle"
            )
    return [walk.messages for walk in walks]


class _Memory:
    """A region: disjoint parts in order, and where each begins."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._parts: list[Origin] = []

    def read(self, begin: int, nbytes: int) -> list[Origin]:
        found, at, end = [], begin, begin + nbytes
        for place in range(*self._met(begin, end)):
            start, part = self._begins[place], self._parts[place]
            low, high = max(start, begin), min(start + part.nbytes, end)
            if low > at:
                found.append(Origin(low - at, 0, UNKNOWN))
            found.append(part.cut(low - start, high - start))
            at = high
        if at < end:
            found.append(Origin(end - at, 0, UNKNOWN))
        return found

    def write(self, begin: int, parts: Sequence[Origin]) -> None:
        end = begin + sum(part.nbytes for part in parts)
        first, last = self._met(begin, end)
        begins, put, at = [], list(parts), begin
        for part in parts:
            begins.append(at)
            at += part.nbytes
        if first < last:  # what sticks out of the first and the last one stays
            start, part = self._begins[first], self._parts[first]
            if start < begin:
                begins.insert(0, start)
                put.insert(0, part.cut(0, begin - start))
            start, part = self._begins[last - 1], self._parts[last - 1]
            if start + part.nbytes > end:
                begins.append(end)
                put.append(part.cut(end - start, part.nbytes))
        self._begins[first:last], self._parts[first:last] = begins, put

    def _met(self, begin: int, end: int) -> tuple[int, int]:
        """Return the first of the parts that have a byte from here to there, and the one behind the last."""
        first = max(bisect_right(self._begins, begin) - 1, 0)
        if first < len(self._begins) and self._begins[first] + self._parts[first].nbytes <= begin:
            first += 1
        return first, max(first, bisect_left(self._begins, end))


class _Walk:
    """One rank's way through its program."""

    def __init__(self, schedule: Any, rank: int, elements: int, element_bytes: int) -> None:
        rows, nbytes = program_of(schedule, rank, elements, element_bytes, in_place=False)
        self._rank = rank
        self._left = deque(groups_of(rows))
        self._has_sent = False
        self._memory: defaultdict[int, _Memory] = defaultdict(_Memory)
        self._memory[_INPUT].write(0, [Origin(nbytes[_INPUT], 0, 1 << rank)])
        self.messages: list[list[Origin]] = []

    @property
    def is_over(self) -> bool:
        return not self._left

    def go(self, mail: defaultdict[tuple[int, int], deque[list[Origin]]]) -> bool:
        """Go on until a message is missing; say whether anything was done."""
        moved = False
        while self._left:
            group = self._left[0]
            if group[0][1] < 0:
                self._do(group[0])
            else:
                if not self._has_sent:
                    self._send(group, mail)
                    self._has_sent = moved = True
                if not self._has_all(group, mail):
                    return moved
                self._end(group, mail)
            self._left.popleft()
            moved = True
        return moved

    def _do(self, row: Instruction) -> None:
        kind, _, _, source_region, source, left_region, left, to_region, to, nbytes = row
        if kind not in (COPY, COMBINE):
            return  # a scale, which leaves zeros zero
        parts = self._memory[source_region].read(source, nbytes)
        if kind == COMBINE:
            parts = _joined(self._memory[left_region].read(left, nbytes), parts)
        self._memory[to_region].write(to, parts)

    def _send(self, group: Sequence[Instruction], mail: Any) -> None:
        for row in group:
            if row[0] == SEND:
                mail[self._rank, row[2]].append(self._memory[row[3]].read(row[4], row[9]))

    def _has_all(self, group: Sequence[Instruction], mail: Any) -> bool:
        peers = [row[2] for row in group if row[0] == RECEIVE]
        return all(len(mail[peer, self._rank]) >= peers.count(peer) for peer in set(peers))

    def _end(self, group: Sequence[Instruction], mail: Any) -> None:
        """Note what has been sent, and write what has come."""
        self._has_sent = False
        sent = [self._memory[row[3]].read(row[4], row[9]) if row[0] == SEND else None for row in group]
        for row, own in zip(group, sent, strict=True):
            parts = mail[row[2], self._rank].popleft() if own is None else own
            if own is None:
                self._memory[row[7]].write(row[8], parts)
            self.messages.append(parts)


def _joined(left: Sequence[Origin], right: Sequence[Origin]) -> list[Origin]:
    """Return the parts of a sum: the elements of both."""
    found, lefts, rights = [], deque(left), deque(right)
    while lefts:
        a, b = lefts.popleft(), rights.popleft()
        nbytes = min(a.nbytes, b.nbytes)
        is_known = UNKNOWN not in (a.ranks, b.ranks) and a.place == b.place
        found.append(Origin(nbytes, a.place, a.ranks | b.ranks if is_known else UNKNOWN))
        if a.nbytes > nbytes:
            lefts.appendleft(a.cut(nbytes, a.nbytes))
        if b.nbytes > nbytes:
            rights.appendleft(b.cut(nbytes, b.nbytes))
    return found
