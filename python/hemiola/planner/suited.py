# SPDX-License-Identifier: Apache-2.0
"""Which schedule suits messages that leave zeros out: one in whose sums little fills up on their way. Direct rounds,
halving where messages are the bottleneck, two levels where several ranks share a node; simulated time decides."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hemiola._core import Schedule, Topology
from hemiola.algorithms import Candidate, Task, candidates
from hemiola.codecs import Speeds
from hemiola.planner.brought import checked
from hemiola.planner.budget import IN_SIMULATION, Searches
from hemiola.planner.outcome import Alternative, Plan
from hemiola.planner.sparse_rule import DENSITIES, DIRECT_COSTS, direct_below
from hemiola.simulate import simulate

#: Of each collective that makes sums; the first is known to suit without a simulation.
_FORMS = {
    "reduce_scatter": (
        "reduce_scatter_direct_rounds",
        "reduce_scatter_recursive_halving",
        "reduce_scatter_bruck",
        "reduce_scatter_hierarchical",
    ),
    "all_reduce": (
        "all_reduce_direct_rounds",
        "all_reduce_recursive_halving_doubling",
        "all_reduce_bruck",
        "all_reduce_hierarchical",
    ),
}
#: Densities at which forms are compared.
_COMPARED = (0.1, 0.01)
#: Two times closer than this are called the same.
_SAME = 1.01


@dataclass(frozen=True)
class Suited:
    """A schedule that suits messages without zeros, and below which density it is predicted to be faster than the one
    that runs dense; 0 where it never is."""

    name: str
    arguments: Mapping[str, object]
    below: float

    @property
    def has_rounds(self) -> bool:
        """Whether every message holds one rank's own values."""
        return self.name.endswith("_direct_rounds")


def suited(network: Topology, found: Plan, codecs: Speeds) -> Suited | None:
    """Choose for a dense plan the schedule that its sparse data run.

    Parameters
    ----------
    network : Topology that was planned for.
    found : Plan, for plain messages.
    codecs : Speeds of a rank's core.

    Returns
    -------
    Suited, or None where sums are not made, or the plan's own schedule suits best.

    Notes
    -----
    Every form is simulated at densities of 0.1 and 0.01. The fastest one is then compared from dense to sparse with the
    plan's own schedule with zeros left out. It must save the extra cost of direct rounds on dense data beside the
    prediction. Where that would take long (direct rounds of more than 120 ranks), a formula stands for both:
    `direct_below`.
    """
    forms = _FORMS.get(found.kind)
    if forms is None or found.rank_count < 2:
        return None
    task = Task(found.kind, found.rank_count, found.nbytes, found.speed, found.conditions, 0, network)
    among = [one for one in candidates(task) if one.name in forms]
    counts = [found.alternatives[0].transfer_count, *(one.transfer_count for one in among)]
    simulations = len(_COMPARED) * len(counts) + 2 * len(DENSITIES)
    if Searches().excess("suited", simulations * max(counts), IN_SIMULATION["fluid"]):
        return _by_formula(found, forms[0], among)
    own = found.schedule
    race = _Race(network, found, codecs)
    made = [(one, schedule) for one in among if (schedule := _made(one)) != own]
    if not made:
        return None
    fastest, schedule = min(made, key=lambda each: (race.in_all(each[1]), each[0].transfer_count))
    below = race.first_gain(schedule, own)
    return Suited(fastest.name, fastest.arguments, below) if below > 0 else None


class _Race:
    """Simulates schedules of one collective with zeros left out."""

    def __init__(self, network: Topology, found: Plan, codecs: Speeds) -> None:
        self._network = network
        self._found = found
        self._codecs = codecs

    def seconds(self, schedule: Schedule, density: float) -> float:
        conditions = replace(self._found.conditions, density=density)
        timeline = simulate(
            schedule,
            self._network,
            self._found.nbytes,
            conditions=conditions,
            unchecked=True,  # ours are tested, the others checked
            codecs=self._codecs,
        )
        return float(timeline.seconds)

    def in_all(self, schedule: Schedule) -> float:
        """Return the seconds at all densities that are compared, of which none counts more than another."""
        return math.prod(self.seconds(schedule, density) for density in _COMPARED)

    def first_gain(self, schedule: Schedule, own: Schedule) -> float:
        """Return the largest density at which the first saves enough, where it loses nothing with sparser data: there
        cores may be what takes time, whatever the schedule."""
        if any(self.seconds(schedule, density) > _SAME * self.seconds(own, density) for density in _COMPARED):
            return 0.0
        for density in (one for one in DENSITIES if one >= _COMPARED[-1]):
            if DIRECT_COSTS * self.seconds(schedule, density) < self.seconds(own, density):
                return density
        return 0.0


def _made(candidate: Candidate) -> Schedule:
    return checked(candidate.name, candidate.generate())


def _by_formula(found: Plan, name: str, among: list[Candidate]) -> Suited | None:
    direct: Alternative | None = next((one for one in found.alternatives if one.name == name), None)
    arguments = next((one.arguments for one in among if one.name == name), None)
    if direct is None or arguments is None or found.name in (name, name.removesuffix("_rounds")):
        return None
    below = direct_below(found.kind, found.rank_count, found.seconds, direct.seconds, found.speed)
    return Suited(name, arguments, below)
