"""Which schedule a communicator runs: the planner's choice for the links as measured at start-up, and for what has been
noticed about ports since.

Every rank plans with the same figures, so every rank comes to the same schedule."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Mapping, Sequence

import numpy as np

from hemiola import _core, algorithms, topologies
from hemiola._core import Schedule, Topology
from hemiola.conditions import Conditions
from hemiola.emulation import Emulation
from hemiola.errors import ArgumentError
from hemiola.late_rule import late_rule
from hemiola.planner import Plan, plan
from hemiola.port_speed import PortSpeed, port_speed

_REPETITIONS = 8
_SMALL_BYTES, _LARGE_BYTES = 64, 1 << 20
_COMBINED_BYTES = 256 << 10
#: Fewer ranks have nobody to reduce with while they wait.
_LEAST_LATE_RANKS = 3
#: What finding a late rank must save at best, as a share of the time without.
_LEAST_GAIN = 0.1


class CommunicatorPlans:
    """Chooses and remembers schedules for one communicator."""

    def __init__(self, ranks: Sequence[int], emulation: Emulation | None) -> None:
        self._ranks = tuple(ranks)
        self._rank_count = len(self._ranks)
        self._emulation = emulation
        self._plans: dict[tuple[str, int, int, tuple[tuple[int, float], ...]], Plan] = {}
        self._named: dict[tuple[str, int, int], Schedule | _core.LateRule] = {}
        self.speed = PortSpeed(1e-6, 5e9)
        self._combine_bandwidth = math.inf

    def measure(self, core: _core.Communicator) -> None:
        """Find out latency and bandwidth between the ranks, all of them active; collective."""
        if self._emulation is not None:
            self.speed = port_speed(self._emulation.topology)
        elif self._rank_count > 1:
            self.speed, self._combine_bandwidth = _agreed(core, _measured(core), _measured_combining())

    def network(self) -> Topology:
        """Return what to plan for: the emulated network, or, as measured, a switch with one port a rank."""
        emulation = self._emulation
        if emulation is not None and emulation.topology.rank_count == self._rank_count:
            return emulation.topology
        speed = self.speed
        return topologies.switch(self._rank_count, latency_s=speed.latency_s, bandwidth=speed.bandwidth)

    def plan(self, kind: str, nbytes: int, root: int, slow: Mapping[int, float]) -> Plan:
        """Return the plan for a collective while those ranks' ports are slow; the same between powers of two."""
        key = (kind, _bucket(nbytes), root, tuple(sorted(slow.items())))
        if key not in self._plans:
            self._plans[key] = self._planned(
                kind, key[1], Conditions(late=self._known().late, slow=dict(slow)), root
            )
        return self._plans[key]

    def _planned(self, kind: str, nbytes: int, conditions: Conditions, root: int = 0) -> Plan:
        """Ask the planner, with all that is known about this network."""
        return plan(
            self.network(), kind, nbytes, conditions, root=root, combine_bandwidth=self._combine_bandwidth
        )

    def choose(
        self, kind: str, nbytes: int, root: int, slow: Mapping[int, float]
    ) -> Schedule | _core.ScheduleParts | _core.LateRule:
        """Return the schedule of the plan for a collective, and with it how to find a late rank where that may pay.

        That is on a network, where ports are what takes time, with nobody slow and nobody known to be late. Where
        ranks can make their own parts of the schedule, return how.
        """
        found = self.plan(kind, nbytes, root, slow)
        if found.parts is not None:
            return found.parts
        may_pay = kind == "all_reduce" and self._rank_count >= _LEAST_LATE_RANKS and nbytes > 0
        if self._emulation is None or not may_pay or slow or self._known().late:
            return found.schedule
        plain_s = found.seconds * nbytes / found.nbytes
        rule = late_rule(self._rank_count, nbytes, self.speed, found.schedule, plain_s)
        saves_s = plain_s - rule.forecast.finish_s[-1]
        return rule if saves_s > _LEAST_GAIN * plain_s else found.schedule

    def _known(self) -> Conditions:
        """Return the emulated conditions from the start, by our own numbers of the ranks."""
        conditions = self._emulation.conditions if self._emulation is not None else Conditions()
        numbers = {rank: number for number, rank in enumerate(self._ranks)}
        late = {numbers[rank]: delay_s for rank, delay_s in conditions.late.items() if rank in numbers}
        slow = {numbers[rank]: factor for rank, factor in conditions.slow.items() if rank in numbers}
        return Conditions(late=late, slow=slow)

    def named(self, name: str, kind: str, nbytes: int, root: int) -> Schedule | _core.LateRule:
        """Return the schedule of a published algorithm; raise ArgumentError unless it is one for this.

        Of all_reduce_late, whose late rank nobody has named, return how to find it.
        """
        key = (name, _bucket(nbytes), root)
        if key not in self._named:
            algorithm = algorithms.get(name)
            if (name, kind) == ("all_reduce_late", "all_reduce"):
                self._named[key] = self._late(key[1])
                return self._named[key]
            if algorithm.needs:
                raise ArgumentError(
                    f"algorithm '{name}' needs to know which ranks are {algorithm.needs}; generate its schedule "
                    f"with hemiola.algorithms.{name}() and pass that"
                )
            if algorithm.kind != kind:
                raise ArgumentError(f"algorithm '{name}' is for {algorithm.kind}, not for {kind}")
            cost = (self._rank_count, key[1], self.speed.latency_s, self.speed.bandwidth)
            chunks = algorithm.best_chunk_count(*cost)
            self._named[key] = algorithm.generate(self._rank_count, root=root, chunk_count=chunks)
        return self._named[key]

    def _late(self, nbytes: int) -> _core.LateRule:
        """Return how to find the late rank; what runs where none is late is planned as if none were."""
        conditions = dataclasses.replace(self._known(), late={})
        plain = self._planned("all_reduce", nbytes, conditions)
        return late_rule(self._rank_count, nbytes, self.speed, plain.schedule)


def _bucket(nbytes: int) -> int:
    """Return the next power of two."""
    return 0 if nbytes == 0 else 1 << (nbytes - 1).bit_length()


def _measured(core: _core.Communicator) -> PortSpeed:
    """Time a ring, in which every rank sends and receives in every step, with small and large blocks."""
    schedule = algorithms.all_gather_ring(core.rank_count)
    steps = core.rank_count - 1

    def step_s(block_bytes: int) -> float:
        block = np.zeros(block_bytes, np.uint8)
        whole = np.zeros(block_bytes * core.rank_count, np.uint8)
        times = []
        for _ in range(_REPETITIONS):
            begin = time.perf_counter()
            core.run("all_gather", block, whole, "sum", 0, schedule, 0.0, "")
            times.append(time.perf_counter() - begin)
        return min(times) / steps

    latency_s = step_s(_SMALL_BYTES)
    return PortSpeed(latency_s, _LARGE_BYTES / max(step_s(_LARGE_BYTES) - latency_s, 1e-9))


def _measured_combining() -> float:
    """Time the addition of one array to another in cache; return bytes per second."""
    total, addend = (np.zeros(_COMBINED_BYTES // 4, np.float32) for _ in range(2))
    times = []
    for _ in range(_REPETITIONS):
        begin = time.perf_counter()
        np.add(total, addend, out=total)
        times.append(time.perf_counter() - begin)
    return _COMBINED_BYTES / max(min(times), 1e-9)


def _agreed(core: _core.Communicator, speed: PortSpeed, combining: float) -> tuple[PortSpeed, float]:
    """Return what rank 0 measured."""
    numbers = np.array([speed.latency_s, speed.bandwidth, combining])
    schedule = algorithms.get("broadcast_binomial").generate(core.rank_count, root=0)
    core.run("broadcast", numbers if core.rank == 0 else None, numbers, "sum", 0, schedule, 0.0, "")
    return PortSpeed(float(numbers[0]), float(numbers[1])), float(numbers[2])
