# SPDX-License-Identifier: Apache-2.0
"""A collective's use of links as it goes on, and how much longer it takes where links carry less.

Latencies, and ports that wait, use no bandwidth. Two collectives that are silent at the same time lose nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Schedule, paths
from hemiola.simulate import Timeline, simulate

#: A phase's least share of the time. Shorter ones change the time of two all-to-alls of 64 KiB by less than a percent.
_LEAST = 1 / 32
#: Of bandwidth, the part that is left where it is found out what less of it costs.
_LESS = 0.5
#: A share of the time that is rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Course:
    """A collective alone on a network, simulated when it is first asked for.

    Attributes
    ----------
    seconds : float > 0.
    simulated : returns its Timeline on the fluid network.
    on_whole : maps the busy seconds of its links to those of all links, float64 arrays.
    """

    seconds: float
    simulated: Callable[[], Timeline]
    on_whole: Callable[[NDArray[np.float64]], NDArray[np.float64]]

    def phase(self, at_s: float) -> tuple[int, float]:
        """Return the phase at a moment, and how many seconds of it are left."""
        ends, _ = self._phases
        place = int(np.searchsorted(ends, at_s + _ROUNDING * self.seconds, side="right"))
        place = min(place, len(ends) - 1)
        return place, max(float(ends[place]) - at_s, _ROUNDING * self.seconds)

    def use(self, phase: int) -> NDArray[np.float64]:
        """Return the share of each link's bandwidth that a phase uses."""
        return np.asarray(self._phases[1][phase])

    @cached_property
    def elasticity(self) -> float:
        """Return how much longer it takes with half the bandwidth, over what its phases say that depend on it.

        1 where it waits for each transfer. It is less where transfers are done while others are on their way.
        """
        timeline, (ends, uses) = self._timeline, self._phases
        lengths = np.diff(ends, prepend=0.0)
        told_s = float(lengths @ np.maximum(uses.max(axis=1, initial=0.0) / _LESS, 1.0)) - self.seconds
        if told_s <= 1e-3 * self.seconds:
            return 1.0
        links = np.array(timeline.topology.links)
        links["bandwidth"] *= _LESS
        slower = timeline.topology.replaced(links=links)
        found = simulate(timeline.schedule, slower, timeline.nbytes, timeline.conditions, unchecked=True)
        return float(np.clip((found.seconds - self.seconds) / told_s, 0.0, 1.0))

    @cached_property
    def _timeline(self) -> Timeline:
        return self.simulated()

    @cached_property
    def _phases(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return when each phase ends, and the share of each link's bandwidth that it uses."""
        timeline = self._timeline
        ends = _ends(timeline)
        carried = _carried(timeline, np.concatenate([[0.0], ends]))
        busy_s = np.array([self.on_whole(share * timeline.link_busy_s) for share in np.diff(carried, axis=0)])
        return ends, np.minimum(busy_s / np.diff(ends, prepend=0.0)[:, None], 1.0)


def _ends(timeline: Timeline) -> NDArray[np.float64]:
    """Return when phases end: where a transfer begins, has left or lands, the first such after a phase's least time."""
    spans = timeline.spans
    moments = np.unique(np.concatenate([spans[name] for name in ("start_s", "end_s", "arrival_s")]))
    kept, last = [], 0.0
    for moment in moments.tolist():
        if moment - last >= _LEAST * timeline.seconds:
            kept.append(moment)
            last = moment
    if not kept or timeline.seconds - kept[-1] >= _ROUNDING * timeline.seconds:
        kept[-1:] = [timeline.seconds]
    return np.array(kept)


def _carried(timeline: Timeline, moments: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of its bytes that each link has carried by each moment."""
    spans, links, schedule = timeline.spans, timeline.topology.link_count, timeline.schedule
    assert isinstance(schedule, Schedule)
    moved = np.asarray(schedule.transfers)[spans["transfer"]]
    weights = np.asarray(schedule.chunk_weights, dtype=np.float64)[moved["chunk"]]
    pairs, which = np.unique(np.stack([moved["src"], moved["dst"]], axis=1), axis=0, return_inverse=True)
    ways = paths(timeline.topology, [(int(src), int(dst)) for src, dst in pairs])
    lengths = np.array([len(way) for way in ways])[which.ravel()]
    flow = np.repeat(np.arange(len(spans)), lengths)
    link = np.concatenate([np.asarray(ways[one], dtype=np.int64) for one in which.ravel().tolist()])
    begin, end = spans["start_s"][flow], spans["end_s"][flow]
    length = np.maximum(end - begin, np.finfo(np.float64).tiny)
    loads = [
        np.bincount(link, weights[flow] * np.clip((moment - begin) / length, 0.0, 1.0), minlength=links)
        for moment in moments
    ]
    carried = np.array(loads)
    return np.asarray(carried / np.maximum(carried[-1], np.finfo(np.float64).tiny))
