# SPDX-License-Identifier: Apache-2.0
"""A preemptive open shop: messages between ranks cut into slots, in each of which a rank sends to one rank and receives
from one, so that together they take no longer than the busiest port."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hemiola.algorithms.number_arrays import Floats, Integers
from hemiola.algorithms.perfect_matching import perfect_matching

#: Time is counted in so small parts of a healthy port's time for a unit, so that sums are exact.
_TICKS = 10**9
#: Units are cut finer until slots in whole units take no longer than this beyond the plan, relative to it.
_SLOT_TOLERANCE = 2e-3
#: A rank's messages of a body are cut into about so many units at most.
MOST_UNITS = 48
#: A port's remaining time, in units of a healthy one, that is no slot of its own: far less than half of the finest
#: unit.
_NEGLIGIBLE = 0.05 / MOST_UNITS


def cut_into_slots(factors: Floats, messages: Integers, most_times: int) -> tuple[int, list[Integers]]:
    """Cut messages into slots of whole units.

    Parameters
    ----------
    factors : array of float, how many times slower each rank's ports are; a message goes at the pace of its slower end.
    messages : symmetric array of int, units that each rank sends to each.
    most_times : int >= 1, into how many a unit may be cut.

    Returns
    -------
    tuple of int, the number of parts that each unit is cut into; and list of arrays, slot by slot, of the number of
    parts from each to each.
    """
    pace = np.rint(np.maximum.outer(factors, factors) * _TICKS).astype(np.int64)
    demand: Integers = pace * messages
    body = int(demand.sum(axis=1).max())
    matchings = list(_matchings(demand))
    found = []
    for times in range(1, most_times + 1):
        slots = _slots(matchings, pace, messages * times, times)
        duration = sum(int((slot * pace).max()) for slot in slots) / times
        found.append((duration, times, slots))
        if duration <= body * (1 + _SLOT_TOLERANCE):
            break
    _, times, slots = min(found, key=lambda candidate: candidate[:2])
    return times, slots


def _slots(
    matchings: list[tuple[NDArray[np.intp], int]], pace: Integers, message: Integers, times: int
) -> list[Integers]:
    """Round matchings, in units of time of which a message takes `times` as many, to whole units of data."""
    ranks = np.arange(len(pace))
    sent, time_spent = np.zeros_like(message), np.zeros_like(pace)
    slots = []
    for partner, duration in matchings:
        time_spent[ranks, partner] += duration * times
        # Rounding the sum, not the summands, keeps ports within half a unit of the plan.
        target = np.minimum(np.rint(time_spent / pace).astype(np.int64), message)
        slots.append(target - sent)
        sent = target
    slots[-1] += message - sent
    return [slot for slot in slots if slot.any()]


def _matchings(demand: Integers) -> Iterator[tuple[NDArray[np.intp], int]]:
    """Split a symmetric demand into matchings of all ranks; their durations sum up to the busiest port's load.

    Birkhoff: a port's idle time is a message to itself, so that all rows and columns have one sum, and a matching of
    what is left always exists. The one whose shortest message is longest is taken for as long as that message lasts.
    """
    ranks, load = np.arange(len(demand)), demand.sum(axis=1)
    left, rest = demand + np.diag(load.max() - load), int(load.max())
    duration = rest
    while rest > _NEGLIGIBLE * _TICKS:
        partner = _longest_matching(left, duration)
        duration = int(left[ranks, partner].min())
        left[ranks, partner] -= duration
        rest -= duration
        yield partner, duration


def _longest_matching(left: Integers, most: int) -> NDArray[np.intp]:
    """Return the partner of each rank in a perfect matching whose smallest entry is as large as possible.

    `most`: no matching has a smallest entry above it. What is left only shrinks, so the last one's duration is one, and
    the next is seldom far below: the search goes down from it in strides that double, then bisects.
    """
    sizes = np.unique(left[(left > 0) & (left <= most)])
    high = len(sizes)
    low, stride = high - 1, 1
    while (best := perfect_matching(left >= sizes[low])) is None:
        assert low > 0, "equal row and column sums have a perfect matching"
        high, low, stride = low, max(low - stride, 0), 2 * stride
    while high - low > 1:
        middle = (low + high) // 2
        if (partner := perfect_matching(left >= sizes[middle])) is None:
            high = middle
        else:
            best, low = partner, middle
    return best
