# SPDX-License-Identifier: Apache-2.0
"""The joint measurement of the links between all ranks of a job.

Small messages are timed in chains of one, two and three at once: every further one adds a message's cost, and the rest
is the latency. Bandwidths are those of long streams behind short ones. Ranks of a node that have less when all of them
send than each alone share a NIC."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from hemiola._core import Communicator as CoreCommunicator
from hemiola._core import Schedule, Topology
from hemiola.calibration.effort import THOROUGH, Effort
from hemiola.calibration.fitting import Floats, latency_and_message, levelled, step_between
from hemiola.calibration.network import NO_LIMIT, Figures, network_of
from hemiola.calibration.nics import NicSearch
from hemiola.calibration.rounds import Nodes, Pair
from hemiola.calibration.stopwatch import Grouping, Stopwatch
from hemiola.calibration.streams import Streams
from hemiola.calibration.traffic import chain, stream

_SMALL_BYTES = 8
_FIRST_STEPS, _MOST_STEPS = 4, 4096
#: How many times longer than a short chain a long one takes at least, and how many times more steps it has at first.
_LONGER, _MORE = 3, 8
#: Cores and memory give now more, now less: bandwidths inside nodes that differ by less are one.
_INSIDE_TOLERANCE = 0.5

#: Called with the part of the work that is done, and the whole.
Progress = Callable[[int, int], None]


def measured_network(
    core: CoreCommunicator,
    nodes: Sequence[int],
    grouping: Grouping,
    effort: Effort = THOROUGH,
    progress: Progress = lambda done, total: None,
) -> Topology:
    """Measure the links between ranks; collective, and nobody else should be using them.

    Parameters
    ----------
    core : the ranks.
    nodes : the node of each rank.
    grouping : makes communicators of some of the ranks.
    effort : Effort.
    progress : called with parts of the work as they are done.

    Returns
    -------
    Topology, the same on all ranks.

    Raises
    ------
    LostRankError, TimeoutError
        naming the rank that died or did not come.
    """
    if core.rank_count == 1:
        return Topology(1, [], name="measured: 1 rank")
    return network_of(Nodes.of(nodes), measured_figures(core, nodes, grouping, effort, progress))


def measured_figures(
    core: CoreCommunicator,
    nodes: Sequence[int],
    grouping: Grouping,
    effort: Effort,
    progress: Progress = lambda done, total: None,
) -> Figures:
    """Do the same for two ranks or more, and return the figures, the same on all ranks."""
    watch = Stopwatch(core, grouping)
    figures = _Measuring(watch, Nodes.of(nodes), effort, progress).figures()
    return Figures.from_numbers(watch.as_rank_zero(figures.to_numbers()))


class _Measuring:
    """The measurements, one after the other; the same on every rank."""

    def __init__(self, watch: Stopwatch, places: Nodes, effort: Effort, progress: Progress) -> None:
        self._watch, self._places, self._effort, self._progress = watch, places, effort, progress
        self._count = places.rank_count

    def figures(self) -> Figures:
        """Measure everything."""
        places = self._places
        inside = self._costs(places.rounds_inside())
        self._progress(1, 5)
        inside_bandwidth = self._inside_bandwidth()
        self._progress(2, 5)
        between = self._costs(places.rounds_between())
        has_alone = self._effort.is_thorough and places.most_ranks > 1
        alone = self._costs(places.rounds_between([0])) if has_alone else between
        self._progress(3, 5)
        nic, nic_bandwidth = np.zeros(self._count, np.int64), np.full(self._count, NO_LIMIT)
        if places.count > 1:
            nic, nic_bandwidth = NicSearch(self._watch, places, self._effort).found()
        self._progress(5, 5)
        return Figures(
            # or ranks of a node would seem nearer by way of the network
            min(inside[0], between[0]) if places.count > 1 else inside[0],
            inside[1],
            inside_bandwidth,
            between[0],
            min(alone[1], between[1]),
            between[1],
            nic,
            nic_bandwidth,
        )

    def _costs(self, rounds: Sequence[Sequence[Pair]]) -> tuple[float, float]:
        """Return the latency and the cost of a message between those who meet in rounds; nothing where nobody does."""
        if not rounds:
            return 0.0, 0.0
        most = min(len(rounds), self._effort.at_once)
        taken_s = [
            self._step_s(partial(chain, self._count, rounds[:at_once])) for at_once in range(1, most + 1)
        ]
        latencies, messages = [1.0] * most, [float(at_once) for at_once in range(1, most + 1)]
        if most == 1:  # there is nobody else to send a second message to
            taken_s.append(self._step_s(partial(stream, self._count, rounds[0])))
            latencies, messages = [1.0, 0.0], [1.0, 1.0]
        return latency_and_message(latencies, messages, np.array(taken_s))

    def _step_s(self, made: Callable[[int], Schedule]) -> float:
        """Return what a step of a schedule takes when it has many, with messages of a few bytes; at best, for
        whatever else a machine does makes it longer."""

        def taken_s(steps: int, repeats: int) -> float:
            found = self._watch.time(self._watch.all, made(steps), _SMALL_BYTES, 1 + repeats)[1:]
            return float(found.max(axis=1).min())

        few_s = taken_s(_FIRST_STEPS, self._effort.chain_repeats)
        long_s = max(self._effort.chain_s, _LONGER * few_s)  # or the difference is that of two beginnings
        steps = _MORE * _FIRST_STEPS
        while steps < _MOST_STEPS and (found_s := taken_s(steps, 1)) < long_s:
            steps = min(_MOST_STEPS, steps * int(np.clip(np.ceil(1.2 * long_s / found_s), 2, _MORE)))
        many_s = taken_s(steps, self._effort.chain_repeats)
        return step_between(few_s, _FIRST_STEPS, many_s, steps)

    def _inside_bandwidth(self) -> Floats:
        """Return what each rank's port inside its node carries."""
        found = np.full(self._count, NO_LIMIT)
        if pairs := self._places.inside(1):
            streams = Streams(self._watch, self._watch.all, self._effort)
            streamed = streams.measured(pairs, streams.volume(pairs))
            ranks = [dst for _, dst in pairs]
            found[ranks] = levelled(np.array([streamed.rate([rank]) for rank in ranks]), _INSIDE_TOLERANCE)
        return found
