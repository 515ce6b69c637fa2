# SPDX-License-Identifier: Apache-2.0
"""A recorded timeline as a step's tasks: computation between the starts of collectives, and the waits for them."""

from __future__ import annotations

import bisect
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hemiola.workload.task import Call, Program, Step

#: A wait for a collective ends at most so long after the collective, in seconds: a thread must wake up.
_WAKE_S = 10e-3
#: A gap that is so short is no wait.
_GAP_S = 20e-6


@dataclass(frozen=True)
class Recorded:
    """A collective of a timeline: when it was started and when it was done, in seconds."""

    call: Call
    start_s: float
    end_s: float


def step_of_timeline(
    name: str,
    busy: Sequence[tuple[float, float]],
    collectives: Sequence[Recorded],
    span: tuple[float, float],
    assumptions: tuple[str, ...],
) -> Step:
    """Return the step that a rank has recorded.

    Parameters
    ----------
    name : str.
    busy : sequence of (begin, end) in seconds, ascending, in which the rank worked.
    collectives : sequence of Recorded, by their starts.
    span : (begin, end) of the step in seconds.
    assumptions : tuple of str.

    Returns
    -------
    Step of one role. A gap of the work is a wait where a collective was under way in it and the work went on within
    10 ms of its end; all other time is computation. The step ends when all of its collectives are done.
    """
    by_end = sorted((one.end_s, number) for number, one in enumerate(collectives))
    found = [_wait(gap, collectives, by_end) for gap in _gaps(busy, span)]
    waits = [wait for wait in found if wait is not None]
    program, now = Program(), span[0]
    front: list[int] = []
    places: dict[int, int] = {}
    events = [(one.start_s, 1, number) for number, one in enumerate(collectives)]
    events += [(begin_s, 0, number) for number, (begin_s, _, _) in enumerate(waits)]
    for at_s, is_start, number in sorted(events):
        if at_s > now:
            front = [program.compute("all ranks", at_s - now, front)]
            now = at_s
        if is_start:
            places[number] = program.call(["all ranks"], collectives[number].call, front)
        else:
            _, end_s, awaited = waits[number]
            front = [*front, *(places[one] for one in awaited if one in places)]
            now = max(now, end_s)
    program.compute("all ranks", max(0.0, span[1] - now), front)
    program.compute("all ranks", 0.0, places.values(), "end")
    return Step(name, tuple(program.tasks), ("all ranks",), assumptions)


class Spans:
    """Many spans of time in 16 bytes each."""

    def __init__(self) -> None:
        self._begins, self._ends = array("d"), array("d")

    def __len__(self) -> int:
        return len(self._begins)

    def add(self, begin_s: float, end_s: float) -> None:
        self._begins.append(begin_s)
        self._ends.append(end_s)

    def extend(self, others: Spans) -> None:
        self._begins.extend(others._begins)
        self._ends.extend(others._ends)

    def joined(self) -> list[tuple[float, float]]:
        """Return them ascending, those that overlap or touch as one."""
        begins_s, ends_s = np.frombuffer(self._begins), np.frombuffer(self._ends)
        order = np.argsort(begins_s, kind="stable")
        begins_s, ends_s = begins_s[order], np.maximum.accumulate(ends_s[order])
        first = np.flatnonzero(np.append(True, begins_s[1:] > ends_s[:-1]))
        last = np.append(first[1:], len(begins_s)) - 1
        return list(zip(begins_s[first].tolist(), ends_s[last].tolist(), strict=True))


def _gaps(busy: Sequence[tuple[float, float]], span: tuple[float, float]) -> list[tuple[float, float]]:
    """Return the time between spans of work that is longer than a moment."""
    begins = [span[0], *(end_s for _, end_s in busy)]
    ends = [*(begin_s for begin_s, _ in busy), span[1]]
    return [(begin, end) for begin, end in zip(begins, ends, strict=True) if end - begin > _GAP_S]


def _wait(
    gap: tuple[float, float], collectives: Sequence[Recorded], by_end: Sequence[tuple[float, int]]
) -> tuple[float, float, tuple[int, ...]] | None:
    """Return the begin and end of the wait in a gap, and the collectives that it is for; None where it is none."""
    first, behind = (bisect.bisect_right(by_end, at_s, key=lambda one: one[0]) for at_s in gap)
    ending = [one for one in by_end[first:behind] if collectives[one[1]].start_s < gap[1]]
    if not ending or gap[1] - ending[-1][0] > _WAKE_S:
        return None
    begin_s = max(gap[0], min(collectives[number].start_s for _, number in ending))
    return begin_s, ending[-1][0], tuple(number for _, number in ending)
