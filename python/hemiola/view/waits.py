# SPDX-License-Identifier: Apache-2.0
"""For whom a rank waits in a simulation: between two sends for that which lets the next one begin, at the end for the
last message to land."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemiola.simulate import Timeline

#: The cause of a wait, where no rank is: the next message's links carry others.
LINK = -1


@dataclass(frozen=True)
class Moves:
    """The transfers with bytes.

    begin_s, leave_s, land_s : when each began and ended to leave its rank, and when it landed.
    """

    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    chunk: NDArray[np.int64]
    reduce: NDArray[np.bool_]
    step: NDArray[np.int64]
    begin_s: NDArray[np.float64]
    leave_s: NDArray[np.float64]
    land_s: NDArray[np.float64]


def moves_of(timeline: Timeline) -> Moves:
    """Return what a simulation recorded."""
    moved = timeline.messages
    src, dst, chunk, step = (moved[name].astype(np.int64) for name in ("src", "dst", "chunk", "step"))
    times = (moved[name] for name in ("begin_s", "leave_s", "land_s"))
    return Moves(src, dst, chunk, moved["reduce"], step, *times)


@dataclass(frozen=True)
class Wait:
    """Time in which a rank sends nothing, though it has more to do.

    rank, begin_s, end_s : who waits, and when.
    cause : the rank it waits for, or LINK: for its message, its coming, or the end of its message to the same receiver.
    root : the rank that holds up the others: that for which `cause` itself waited meanwhile, and so on.
    """

    rank: int
    begin_s: float
    end_s: float
    cause: int
    root: int


def waits_of(
    moves: Moves, finish_s: NDArray[np.float64], late_s: Mapping[int, float], least_s: float
) -> list[Wait]:
    """Return all waits longer than `least_s`, by rank.

    Parameters
    ----------
    moves : Moves.
    finish_s : seconds, one per rank: when it is done.
    late_s : seconds by late rank.
    least_s : seconds > 0, below which a wait is none, nor a link of a chain.

    Notes
    -----
    Cost: O(m log m) for m transfers, and for each wait the messages that land meanwhile.
    """
    found = list(_gaps(moves, finish_s, late_s, least_s))
    landed, taken = _Arrivals(moves, moves.land_s), _Arrivals(moves, moves.leave_s)
    causes = [_cause(moves, landed, taken, gap, late_s, least_s) for gap in found]
    roots = _roots(moves, found, causes)
    return [
        Wait(gap.rank, gap.begin_s, gap.end_s, cause, root)
        for gap, (cause, _), root in zip(found, causes, roots, strict=True)
    ]


@dataclass(frozen=True)
class _Gap:
    """A rank sends nothing from `begin_s` to `end_s`; the transfer that then begins is `ends`, -1 at the end of all."""

    rank: int
    begin_s: float
    end_s: float
    ends: int


def _gaps(
    moves: Moves, finish_s: NDArray[np.float64], late_s: Mapping[int, float], least_s: float
) -> Iterator[_Gap]:
    order = np.lexsort((moves.begin_s, moves.src))
    first = np.searchsorted(moves.src[order], np.arange(len(finish_s) + 1))
    for rank, finish in enumerate(finish_s.tolist()):
        sent = order[first[rank] : first[rank + 1]]
        free = np.maximum.accumulate(np.concatenate([[late_s.get(rank, 0.0)], moves.leave_s[sent]]))
        for place in np.flatnonzero(moves.begin_s[sent] - free[:-1] > least_s).tolist():
            yield _Gap(rank, float(free[place]), float(moves.begin_s[sent[place]]), int(sent[place]))
        if finish - free[-1] > least_s:
            yield _Gap(rank, float(free[-1]), finish, -1)


class _Arrivals:
    """The transfers to each rank, by a time of each."""

    def __init__(self, moves: Moves, time_s: NDArray[np.float64]) -> None:
        self._order = np.lexsort((time_s, moves.dst))
        self._first = np.searchsorted(moves.dst[self._order], np.arange(int(moves.dst.max(initial=-1)) + 2))
        self._time_s = time_s

    def within(self, rank: int, begin_s: float, end_s: float) -> NDArray[np.int64]:
        """Return those to this rank after one time and up to another, the last one last."""
        if rank + 1 >= len(self._first):
            return self._order[:0]
        own = self._order[self._first[rank] : self._first[rank + 1]]
        first, end = np.searchsorted(self._time_s[own], [begin_s, end_s], "right")
        return own[first:end]


def _cause(
    moves: Moves, landed: _Arrivals, taken: _Arrivals, gap: _Gap, late_s: Mapping[int, float], least_s: float
) -> tuple[int, int]:
    """Return the rank that is waited for, and the transfer that ends the wait; -1 where there is none.

    The next transfer begins when its chunk is there, when its receiver has come, and when that has taken what comes
    before it; the last of these is the cause.
    """
    until_s = gap.end_s + 1e-3 * least_s
    came = landed.within(gap.rank, gap.begin_s, until_s)
    if gap.ends < 0:
        return _last(moves, came, moves.land_s)[1:]
    peer = int(moves.dst[gap.ends])
    before = taken.within(peer, gap.end_s - least_s, until_s)
    ends = [
        _last(moves, came[moves.chunk[came] == moves.chunk[gap.ends]], moves.land_s),
        (late_s.get(peer, 0.0), peer, -1),
        _last(moves, before[moves.src[before] != gap.rank], moves.leave_s),
    ]
    time_s, cause, awaited = max(ends, key=lambda end: end[0])
    return (cause, awaited) if time_s > gap.end_s - least_s else (LINK, -1)


def _last(moves: Moves, transfers: NDArray[np.int64], time_s: NDArray[np.float64]) -> tuple[float, int, int]:
    """Return the last transfer's time, source and number."""
    if len(transfers) == 0:
        return -math.inf, LINK, -1
    last = int(transfers[-1])
    return float(time_s[last]), int(moves.src[last]), last


def _roots(moves: Moves, gaps: list[_Gap], causes: list[tuple[int, int]]) -> list[int]:
    """Follow each wait back through a sender that waited itself meanwhile, and was busy since."""
    of_rank: dict[int, list[int]] = {}
    for place, gap in enumerate(gaps):
        of_rank.setdefault(gap.rank, []).append(place)
    ends_s = {rank: np.array([gaps[place].end_s for place in places]) for rank, places in of_rank.items()}
    roots = [cause for cause, _ in causes]
    # A wait that is followed back ended before the one that it explains.
    for place in sorted(range(len(gaps)), key=lambda one: gaps[one].end_s):
        cause, awaited = causes[place]
        if awaited < 0 or cause not in of_rank:
            continue
        before = int(np.searchsorted(ends_s[cause], moves.begin_s[awaited], "right")) - 1
        if before < 0 or ends_s[cause][before] <= gaps[place].begin_s:
            continue
        if (root := roots[of_rank[cause][before]]) != LINK:
            roots[place] = root
    return roots
