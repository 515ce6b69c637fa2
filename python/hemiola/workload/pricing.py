# SPDX-License-Identifier: Apache-2.0
"""The cost of a call: its class of groups on a network, run by a library, under conditions. Costs are remembered."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Topology
from hemiola.conditions import Conditions
from hemiola.simulate import simulate
from hemiola.workload.compared import MOST_TRANSFERS, compared
from hemiola.workload.course import Course
from hemiola.workload.group_network import MOST_RANKS, GroupNetwork, group_network, ways_of
from hemiola.workload.libraries import BOUND, HEMIOLA
from hemiola.workload.parallel import Parallel
from hemiola.workload.planned import bounded, planned
from hemiola.workload.running import Cost
from hemiola.workload.siblings import side_by_side
from hemiola.workload.task import SEND, Call
from hemiola.workload.timed import Timed

#: A link that is busy for so much of the time holds up what runs beside, whenever that comes.
_BUSY = 0.98
#: Of plans around a late rank: a search with the usual effort takes longer than a question may.
_LATE_EFFORT = 0.05
#: Ranks of a group, at most, for which a plan around a late rank is made.
_MOST_LATE = 256


@dataclass(frozen=True)
class Prices:
    """Prices the calls of a step.

    Attributes
    ----------
    topology : Topology of all ranks.
    parallel : Parallel, settled.
    conditions : Conditions: slow ranks, and the late ranks without their times.
    library : str, one of `libraries.LIBRARIES`.
    software_s : float >= 0, the library's own time for a call; one that moves nothing has none.
    """

    topology: Topology
    parallel: Parallel
    conditions: Conditions
    library: str
    software_s: float = 0.0
    #: A look into it takes no digest of the topology.
    _known: dict[tuple[Call, float], Cost] = field(default_factory=dict, repr=False, compare=False)

    def __call__(self, call: Call, spread_s: float) -> Cost:
        """Return the cost of a call from its last rank's arrival, so many seconds behind the first.

        Parameters
        ----------
        call : Call.
        spread_s : float >= 0.

        Returns
        -------
        Cost

        Raises
        ------
        ArgumentError
            Ranks of a group have no way to each other.
        """
        is_sent = call.kind == SEND
        cost = _sent(self.topology, self.parallel, call.nbytes) if is_sent else self._cost(call, 0.0)
        if cost.seconds == 0:
            return cost
        seconds = cost.seconds
        if spread_s > 0 and self.library in (HEMIOLA, BOUND) and not is_sent:
            seconds = float(
                np.interp(spread_s, [0.0, seconds], [seconds, seconds * self._after_arrival(call)])
            )
        return replace(cost, seconds=seconds + self.software_s, software_s=self.software_s)

    def _after_arrival(self, call: Call) -> float:
        """Return the share of a collective's time that is left where its last rank comes as late as that time.

        It hardly depends on the size: the plan is made for a power of two of bytes. For large groups none is made: with
        the effort that a question may take it would not be better than the punctual one.
        """
        is_large = self.parallel.groups(call.group).shape[1] > _MOST_LATE
        if is_large and self.library == HEMIOLA:
            return 1.0
        nbytes = 1 << max(10, call.nbytes.bit_length() - 1)
        alike = replace(call, nbytes=nbytes)
        punctual_s = self._cost(alike, 0.0).seconds
        return min(1.0, self._cost(alike, punctual_s).seconds / punctual_s) if punctual_s else 1.0

    def _cost(self, call: Call, late_s: float) -> Cost:
        if (call, late_s) not in self._known:
            self._known[call, late_s] = _priced(
                self.topology, self.parallel, self.conditions, self.library, call.kind, call.nbytes, call.group,
                call.density, call.skew, late_s,
            )  # fmt: skip
        return self._known[call, late_s]


@lru_cache(maxsize=32)
def network_of(topology: Topology, parallel: Parallel, conditions: Conditions, group: str) -> GroupNetwork:
    """Return the network of a class of groups; those of the latest questions are kept."""
    return group_network(topology, parallel.groups(group), conditions)


@lru_cache(maxsize=1024)
def _priced(
    topology: Topology,
    parallel: Parallel,
    conditions: Conditions,
    library: str,
    kind: str,
    nbytes: int,
    group: str,
    density: float,
    skew: float,
    late_s: float,
) -> Cost:
    network = network_of(topology, parallel, conditions, group)
    now = network.conditions(conditions, late_s=late_s, density=density)
    if library == HEMIOLA:
        effort = _LATE_EFFORT if late_s else 1.0
        found = planned(network.topology, kind, nbytes, now, skew, effort)
    elif library == BOUND:
        found = bounded(network.topology, kind, nbytes, now, skew)
    else:
        found = compared(library, network.topology, kind, nbytes, now.slow_ranks)
        if kind == "all_to_all" and skew > 1:
            found = replace(found, seconds=found.seconds * skew, schedule=None)
    if late_s:
        return Cost(max(0.0, found.seconds - late_s), None, found.algorithm, found.source)
    return _of_class(network, found, nbytes, conditions)


def _of_class(network: GroupNetwork, found: Timed, nbytes: int, conditions: Conditions) -> Cost:
    """Return the cost of all groups at once: simulated together where that is small, else by shares of links."""
    groups, schedule, whole = network.groups, found.schedule, network.whole
    slow = Conditions(slow=conditions.slow)
    if schedule is not None and 1 < len(groups) <= MOST_TRANSFERS // max(1, schedule.transfer_count):
        made = side_by_side(schedule, groups, whole.rank_count)
        # Of a rank's buffer a chunk of an all-to-all is that of one pair.
        buffers = schedule.rank_count if schedule.collective.kind == "all_to_all" else 1
        timeline = simulate(made, whole, nbytes * len(groups) * buffers, slow, unchecked=True)
        own = Course(timeline.seconds, lambda: timeline, np.asarray)
        return Cost(
            timeline.seconds, _use(timeline.link_busy_s, timeline.seconds, own), found.algorithm, found.source
        )
    if found.source == "bound":
        return Cost(found.seconds, None, found.algorithm, found.source)
    course = None
    if schedule is not None and len(groups) == 1 and not conditions.slow:
        again = partial(simulate, schedule, network.topology, nbytes, unchecked=True)
        course = Course(found.seconds, again, partial(network.cut.on_whole, link_count=whole.link_count))
    busy_s = network.cut.on_whole(found.busy_s, whole.link_count)
    return Cost(found.seconds, _use(busy_s, found.seconds, course), found.algorithm, found.source)


def _use(busy_s: NDArray[np.float64], seconds: float, course: Course | None) -> NDArray[np.float64] | Course:
    """Return a course only where it says more: some link is silent for a while, and none is busy all the time."""
    even = np.minimum(busy_s / max(seconds, 1e-12), 1.0)
    return even if course is None or not 0.0 < even.max(initial=0.0) < _BUSY else course


def _near(topology: Topology, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the pairs whose ways are looked at: of many ranks those that begin in the first host."""
    nodes = np.asarray(topology.nodes)
    is_large = topology.rank_count > MOST_RANKS
    return pairs[nodes[pairs[:, 0]] == nodes[pairs[0, 0]]] if is_large else pairs


@lru_cache(maxsize=256)
def _sent(topology: Topology, parallel: Parallel, nbytes: int) -> Cost:
    """Return the cost of messages from all ranks of each stage to the next at once."""
    pairs = [(int(src), int(dst)) for src, dst in _near(topology, parallel.groups("pp"))]
    ways = ways_of(topology, pairs)
    links = np.asarray(topology.links)
    loads = np.bincount(np.concatenate([np.asarray(way) for way in ways]), minlength=len(links))
    busy_s = loads * nbytes / links["bandwidth"]
    latency_s = max(float((links["latency_s"] + links["message_s"])[way].sum()) for way in ways)
    seconds = latency_s + float(busy_s.max())
    return Cost(seconds, busy_s / seconds if seconds > 0 else None, "send", "formula")
