# SPDX-License-Identifier: Apache-2.0
"""Runs a step's tasks: streams in order, collectives when their last role has come, links shared.

It sees no memory, no queues of a device, and no jitter. A collective's use of links follows its own course, or is taken
as even over its time where that is not at hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemiola.workload.cores import Cores
from hemiola.workload.course import Course
from hemiola.workload.sharing import shared_rates
from hemiola.workload.task import LATE, SEND, Call, Step, Task

#: Work that is so little is done; of rounding.
_DONE_S = 1e-15
#: Of a call's time, a part that is rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Cost:
    """The time of a call.

    Attributes
    ----------
    seconds : float >= 0, from its last rank's arrival, alone on the network.
    use : float64 array, the share of each link's bandwidth that it uses behind its software; or its Course, of as many
        seconds; None where it shares nothing.
    algorithm : str.
    source : str, "simulated", "planned", "formula" or "bound".
    software_s : float >= 0, the first of its seconds, in which it uses no link.
    """

    seconds: float
    use: NDArray[np.float64] | Course | None = None
    algorithm: str = ""
    source: str = "simulated"
    software_s: float = 0.0


#: Prices a call whose last role comes so many seconds behind the first.
Price = Callable[[Call, float], Cost]


@dataclass(frozen=True, eq=False)
class Ran:
    """When each task of a step begins and ends, in seconds; a call begins when its last role has come."""

    step: Step
    seconds: float
    begin_s: NDArray[np.float64]
    end_s: NDArray[np.float64]


class _Run:
    """The state of a run between two events."""

    def __init__(self, step: Step, price: Price, overlap_loss: float, cores: Cores | None) -> None:
        self._tasks, self._price, self._speed_beside = step.tasks, price, 1.0 - overlap_loss
        self._cores = cores
        self._needs = [set(task.needs) for task in step.tasks]
        last: dict[tuple[str, str], int] = {}
        for place, task in enumerate(step.tasks):
            for role in task.roles:
                if (role, task.stream) in last:
                    self._needs[place].add(last[role, task.stream])
                last[role, task.stream] = place
        self._after: list[list[int]] = [[] for _ in step.tasks]
        self._waiting = [len(needs) for needs in self._needs]
        for place, needs in enumerate(self._needs):
            for need in needs:
                self._after[need].append(place)
        self.begin_s, self.end_s = np.zeros(len(step.tasks)), np.zeros(len(step.tasks))
        self._left: dict[int, float] = {}
        self._costs: dict[int, Cost] = {}
        self._known: dict[tuple[tuple[int, int], ...], list[float]] = {}
        self._steady_s = math.inf  # how long uses stay as they are

    def run(self) -> None:
        """Go from event to event until nothing is left."""
        now, ready = 0.0, [place for place, count in enumerate(self._waiting) if count == 0]
        while ready or self._left:
            while ready:
                self._begin(ready.pop(), now, ready)
            if not self._left:
                break
            rates = self._rates()
            passed_s = min(left / rates[place] for place, left in self._left.items())
            passed_s = min(passed_s, self._steady_s)
            now += passed_s
            for place in list(self._left):
                self._left[place] -= passed_s * rates[place]
                if self._left[place] <= _DONE_S:
                    del self._left[place]
                    self._end(place, now, ready)

    def _begin(self, place: int, now: float, ready: list[int]) -> None:
        task, self.begin_s[place] = self._tasks[place], now
        seconds = task.seconds
        if task.call is not None:
            cost = self._costs[place] = self._price(task.call, self._spread_s(place, task))
            seconds = cost.seconds * task.call.count
        if seconds <= _DONE_S:
            self._end(place, now, ready)
        else:
            self._left[place] = seconds

    def _end(self, place: int, now: float, ready: list[int]) -> None:
        self.end_s[place] = now
        for following in self._after[place]:
            self._waiting[following] -= 1
            if self._waiting[following] == 0:
                ready.append(following)

    def _spread_s(self, place: int, task: Task) -> float:
        """Return how far the last role comes behind the first."""
        if len(task.roles) == 1 or (task.call is not None and task.call.kind == SEND):
            return 0.0
        arrivals = [
            max(
                (self.end_s[need] for need in self._needs[place] if role in self._tasks[need].roles),
                default=0.0,
            )
            for role in task.roles
        ]
        return float(max(arrivals) - min(arrivals))

    def _rates(self) -> dict[int, float]:
        """Return the speed of each running task; calls share links with those of the same roles."""
        calls = [place for place in self._left if self._tasks[place].call is not None]
        busy = {role for place in calls for role in self._tasks[place].roles}
        delays = {place: 1.0 for place in self._left if self._tasks[place].label == LATE}
        computing = {
            place: self._tasks[place].roles[0]
            for place in self._left
            if self._tasks[place].call is None and place not in delays
        }
        speed = self._cores.speed(computing.values()) if self._cores is not None else 1.0
        rates = delays | {
            place: speed * (self._speed_beside if role in busy else 1.0) for place, role in computing.items()
        }
        self._steady_s = math.inf
        for together in _joined(calls, self._tasks):
            rates |= self._shared(together)
        return rates

    def _shared(self, together: list[int]) -> dict[int, float]:
        """Return the speed of calls that have roles in common; in its software a call leaves the links to others."""
        found = dict.fromkeys(together, 1.0)
        now = {place: self._now(place) for place in together if self._costs[place].use is not None}
        if len(now) < 2:
            return found
        sharing = {place: phase for place, (phase, _) in now.items() if phase is not None}
        key = tuple((id(self._costs[place].use), phase) for place, phase in sharing.items())
        if key not in self._known:
            parts = [_part(self._costs[place].use, phase) for place, phase in sharing.items()]
            self._known[key] = shared_rates([use for use, _ in parts], [felt for _, felt in parts])
        found |= zip(sharing, self._known[key], strict=True)
        self._steady_s = min(self._steady_s, *(left_s / found[place] for place, (_, left_s) in now.items()))
        return found

    def _now(self, place: int) -> tuple[int | None, float]:
        """Return a call's phase, None in its software, and how many of its own seconds are left of that.

        Equal calls follow each other.
        """
        cost = self._costs[place]
        rounding_s = _ROUNDING * cost.seconds
        left_s = self._left[place] % cost.seconds or cost.seconds
        software_s = left_s - (cost.seconds - cost.software_s)
        if software_s > rounding_s:
            return None, software_s
        if isinstance(cost.use, Course):
            phase, left_s = cost.use.phase(cost.use.seconds - left_s)
        else:
            phase = 0
        return phase, max(left_s, rounding_s)


def _part(use: NDArray[np.float64] | Course | None, phase: int) -> tuple[NDArray[np.float64], float]:
    """Return the use of links in a phase, and how much of a slower link is felt."""
    if isinstance(use, Course):
        return use.use(phase), use.elasticity
    assert use is not None
    return use, 1.0


def _joined(calls: list[int], tasks: tuple[Task, ...]) -> list[list[int]]:
    """Put calls that have a role in common together."""
    found: list[tuple[set[str], list[int]]] = []
    for place in calls:
        roles, members = set(tasks[place].roles), [place]
        for other in [each for each in found if each[0] & roles]:
            found.remove(other)
            roles, members = roles | other[0], other[1] + members
        found.append((roles, members))
    return [members for _, members in found]


def run(step: Step, price: Price, *, overlap_loss: float = 0.0, cores: Cores | None = None) -> Ran:
    """Run a step.

    Parameters
    ----------
    step : Step.
    price : callable that prices a call, given by how many seconds its last role comes behind its first.
    overlap_loss : float in [0, 1), the share of its speed that computation loses beside communication of its role.
    cores : Cores, optional, which ranks share; by default each rank has its own.

    Returns
    -------
    Ran

    Notes
    -----
    O(tasks × running tasks), a few microseconds each.
    """
    state = _Run(step, price, overlap_loss, cores)
    state.run()
    return Ran(step, float(state.end_s.max(initial=0.0)), state.begin_s, state.end_s)
