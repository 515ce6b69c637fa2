"""What the engine costs on this machine, measured by the ranks of a job, and what schedules take with it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hemiola import algorithms
from hemiola._core import Schedule, Topology
from hemiola.communicator import Communicator
from hemiola.conditions import Conditions
from hemiola.doctor.settings import Job
from hemiola.machine import core_count
from hemiola.measure.joined import everybodys
from hemiola.measure.pattern import Pattern
from hemiola.measure.trial import Trial, combine, measure
from hemiola.planner.core_rates import Work, add, best_rate
from hemiola.planner.machine_model import EngineCosts, Footprint, memory_network, small_costs
from hemiola.simulate import simulate

#: Schedules of an all-gather that have few and many steps and messages.
_SMALL = ("all_gather_ring", "all_gather_direct", "all_gather_bruck")
_SMALL_REPEATS = 10
#: Buffers that are copied and added to: in a core's own cache, in a shared one, in memory.
_SIZES = (32 << 10, 512 << 10, 8 << 20)
_REPEATS = 5
#: How long all ranks copy at once, to see what share of the cores they get beside whatever else runs.
_CROWDED_S = 0.02
#: A difference of two measured times is not taken for less.
_LEAST_S = 1e-7


@dataclass(frozen=True)
class Engine:
    """The costs of a job's ranks; the same on all of them.

    `copying` and `adding` are a core's bytes per second for buffers of `_SIZES`, at best; `core_share` is how much of
    the cores ranks get that all work at once; `emulated` is the network that ranks behave like, None where they share
    memory as it is.
    """

    rank_count: int
    emulated: Topology | None
    core_count: int
    core_share: float
    small_s: tuple[float, float, float]
    copying: NDArray[np.float64]
    adding: NDArray[np.float64]

    @classmethod
    def measured(cls, comm: Communicator, job: Job) -> Engine:
        """Measure, as one of the ranks; all call this, and all go by what rank 0 finds."""
        copying = np.array([_rate(size, np.copyto) for size in _SIZES])
        adding = np.array([_rate(size, add) for size in _SIZES])
        comm.barrier()
        together = sum(everybodys(comm, _crowded_rate()))
        cores = min(job.rank_count, core_count())
        share = min(1.0, together / (cores * float(copying[0])))
        bare = cls(job.rank_count, job.emulated, core_count(), share, (0.0, 0.0, 0.0), copying, adding)
        own = replace(bare, small_s=bare._small_costs(comm, job.conditions))
        found: Engine = everybodys(comm, own)[0]
        return found

    def seconds(self, schedule: Schedule, nbytes: int, conditions: Conditions) -> float:
        """Predict what a schedule takes here."""
        copying, adding = (self.core_share * _at(rates, nbytes) for rates in (self.copying, self.adding))
        costs = EngineCosts(self.core_count, *self.small_s, copying, adding)
        network_s = self._network_s(schedule, nbytes, conditions)
        return costs.seconds(Footprint.of(schedule), nbytes, network_s)

    def _network_s(self, schedule: Schedule, nbytes: int, conditions: Conditions) -> float:
        network = self.emulated or memory_network(
            self.rank_count, self.core_share * _at(self.copying, nbytes)
        )
        return simulate(schedule, network, nbytes, conditions).seconds

    def _small_costs(self, comm: Communicator, conditions: Conditions) -> tuple[float, float, float]:
        """Measure what moves next to nothing, and find what a call, a step and a message cost."""
        pattern = Pattern("all_gather", self.rank_count, self.rank_count, np.dtype(np.float32))
        footprints, taken_s = [], []
        for name in _SMALL:
            schedule = algorithms.get(name).generate(self.rank_count)
            trial = Trial(pattern=pattern, schedule=schedule, spaced=True, warmups=2, repeats=_SMALL_REPEATS)
            seen = combine(pattern, everybodys(comm, measure(comm, trial)), spaced=True)
            footprints.append(Footprint.of(schedule))
            taken_s.append(max(_LEAST_S, seen.p50_s - self._network_s(schedule, pattern.nbytes, conditions)))
        return small_costs(footprints, taken_s)


def _at(rates: NDArray[np.float64], nbytes: int) -> float:
    """Return the rate for a buffer of a size between those that were measured."""
    return float(np.interp(np.log2(max(nbytes, 1)), np.log2(_SIZES), rates))


@lru_cache(maxsize=1)
def _arrays() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    return np.ones(_SIZES[-1] // 4, np.float32), np.ones(_SIZES[-1] // 4, np.float32)


def _rate(nbytes: int, work: Work) -> float:
    """Return the bytes per second that this rank's core gets done of them at best, while all ranks are at it."""
    total, addend = (array[: nbytes // 4] for array in _arrays())
    return best_rate(work, total, addend, _REPEATS)


def _crowded_rate() -> float:
    """Return the bytes per second that this rank copies in its own cache for a while in which all ranks do."""
    total, addend = (array[: _SIZES[0] // 4] for array in _arrays())
    begin, copied = time.perf_counter(), 0
    while (elapsed_s := time.perf_counter() - begin) < _CROWDED_S:
        np.copyto(total, addend)
        copied += _SIZES[0]
    return copied / elapsed_s
