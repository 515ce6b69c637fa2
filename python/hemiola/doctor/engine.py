# SPDX-License-Identifier: Apache-2.0
"""The engine's costs on this machine, measured by the ranks of a job, and the times of schedules with them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hemiola import algorithms
from hemiola._core import Schedule, Topology
from hemiola.arguments.names import as_kind
from hemiola.communicator import Communicator
from hemiola.conditions import Conditions
from hemiola.doctor.settings import Job
from hemiola.measure.joined import everybodys
from hemiola.measure.pattern import Pattern
from hemiola.measure.trial import Trial, combine, measure
from hemiola.planner.core_rates import Work, add, best_rate
from hemiola.planner.machine_model import EngineCosts, Footprint, WorkRates, small_costs
from hemiola.planner.memory_speeds import cores_of_all
from hemiola.simulate import simulate

#: Schedules that have few and many hops and messages, by how ranks talk. In memory none is a ring: there each rank
#: waits for the next as often as there are ranks. On fewer cores than ranks that takes some ten times a chain's hops,
#: and where a ring is planned its bytes count. Over an emulated network the lateness of its clock's wake-ups counts.
#: There chains have one chunk; over an emulated network one of many shows the cost of messages whose hops overlap.
_SMALL_IN_MEMORY = (
    ("all_gather", "all_gather_direct", None),
    ("all_gather", "all_gather_bruck", None),
    ("broadcast", "broadcast_chain", 1),
    ("reduce", "reduce_chain", 1),
)
_SMALL_EMULATED = (
    ("all_gather", "all_gather_direct", None),
    ("all_gather", "all_gather_bruck", None),
    ("broadcast", "broadcast_binomial", None),
    ("broadcast", "broadcast_chain", 16),
    ("gather", "gather_direct", None),
)
_SMALL_REPEATS = 20
#: Collectives in one step, in which all ranks copy or combine at once, or the root alone does, or all copy the root's
#: data.
_TOGETHER = ("all_to_all", "reduce_scatter")
_ALONE = ("gather", "reduce")
_SPREAD = "broadcast"
#: Buffers that are moved, from messages that stream to those that are fetched from memory, and how often.
_MOVED_SIZES = (16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 32 << 20)
_MOVED_REPEATS = (20, 20, 20, 10, 5, 3)
#: Before any of these counts: ways to copy are tried first, and the best is taken from then on.
WARMUPS = 5
#: Buffers that are copied and added to: in a core's own cache, in a shared one, in memory.
_COPIED_SIZES = (32 << 10, 512 << 10, 8 << 20)
_COPIED_REPEATS = 5
#: How long all ranks copy at once, to see their share of the cores beside other programs.
_CROWDED_S = 0.02
#: A difference of two measured times is not taken for less.
_LEAST_S = 1e-7


@dataclass(frozen=True)
class Rates:
    """Bytes per second for buffers of some sizes: of one rank and of all in sum, copied and combined; and of all in
    sum of one buffer that spreads from a root, where that was measured."""

    sizes: tuple[int, ...]
    alone: tuple[WorkRates, ...]
    together: tuple[WorkRates, ...]
    spread: tuple[float, ...] = ()

    def at(self, nbytes: int) -> tuple[WorkRates, WorkRates, float | None]:
        """Return the rates for a size between the measured ones: alone, together, and of a spread buffer."""
        spread = self._between(self.spread, nbytes) if self.spread else None
        return self._both(self.alone, nbytes), self._both(self.together, nbytes), spread

    def _both(self, rates: tuple[WorkRates, ...], nbytes: int) -> WorkRates:
        return WorkRates(
            self._between([rate.copied for rate in rates], nbytes),
            self._between([rate.combined for rate in rates], nbytes),
        )

    def _between(self, rates: Sequence[float], nbytes: int) -> float:
        return float(np.interp(np.log2(max(nbytes, 1)), np.log2(self.sizes), rates))


@dataclass(frozen=True)
class Engine:
    """The costs of a job's ranks; the same on all of them.

    `emulated` is the network that ranks behave like, None where they share memory as it is.
    """

    rank_count: int
    emulated: Topology | None
    small_s: tuple[float, float, float]
    rates: Rates

    @classmethod
    def measured(cls, comm: Communicator, job: Job) -> Engine:
        """Measure, as one of the ranks; all call this, and all use rank 0's result.

        In memory it is the engine that moves bytes; over an emulated network its times would be the network's, so there
        a core's copies and additions stand for it.
        """
        rates = _copied(comm, job) if job.is_emulated else _moved(comm, job)
        bare = cls(job.rank_count, job.emulated, (0.0, 0.0, 0.0), rates)
        own = replace(bare, small_s=bare._small_costs(comm, job.conditions))
        found: Engine = everybodys(comm, own)[0]
        return found

    def seconds(self, schedule: Schedule, nbytes: int, conditions: Conditions) -> float:
        """Predict a schedule's time here."""
        costs = EngineCosts(*self.small_s, *self.rates.at(nbytes))
        network_s = self._network_s(schedule, nbytes, conditions)
        return costs.seconds(self._footprint(schedule), nbytes, network_s)

    def _footprint(self, schedule: Schedule) -> Footprint:
        """Count; an emulated clock wakes ranks at every step, whatever chunk it is of, and each message takes cores
        that all ranks share, whosever it is."""
        found = Footprint.of(schedule)
        if self.emulated is None:
            return found
        return replace(found, hops=schedule.step_count, messages=found.all_messages)

    def _network_s(self, schedule: Schedule, nbytes: int, conditions: Conditions) -> float:
        if self.emulated is None:
            return 0.0  # the receiver copies, which the rates include
        return simulate(schedule, self.emulated, nbytes, conditions).seconds

    def _small_costs(self, comm: Communicator, conditions: Conditions) -> tuple[float, float, float]:
        """Measure what moves next to nothing, and find what a call, a hop and a message cost."""
        small = _SMALL_IN_MEMORY if self.emulated is None else _SMALL_EMULATED
        trials = [
            _Timed(
                # an element for every chunk: those without bytes would be no messages
                Pattern(
                    as_kind(kind), self.rank_count, self.rank_count * (chunks or 1), np.dtype(np.float32)
                ),
                algorithms.get(name).generate(self.rank_count, chunk_count=chunks),
                _SMALL_REPEATS,
            )
            for kind, name, chunks in small
        ]
        taken_s = [
            max(_LEAST_S, seen_s - self._network_s(each.schedule, each.pattern.nbytes, conditions))
            for each, seen_s in zip(trials, _taken_s(comm, trials), strict=True)
        ]
        footprints = [self._footprint(each.schedule) for each in trials]
        return small_costs(footprints, taken_s)


class _Timed(NamedTuple):
    """What is timed, and how often."""

    pattern: Pattern
    schedule: Schedule
    repeats: int


def _taken_s(comm: Communicator, trials: Sequence[_Timed]) -> list[float]:
    """Return the median of what each takes, spaced by barriers; the same on all ranks.

    Of two runs with all others in between, the faster: what a moment does to one it does not do to both.
    """
    runs = [[_median_s(comm, *each) for each in trials] for _ in range(2)]
    fastest_s: list[float] = np.min(runs, axis=0).tolist()
    return fastest_s


def _median_s(comm: Communicator, pattern: Pattern, schedule: Schedule, repeats: int) -> float:
    trial = Trial(pattern=pattern, schedule=schedule, spaced=True, warmups=WARMUPS, repeats=repeats)
    return combine(pattern, everybodys(comm, measure(comm, trial)), spaced=True).p50_s


def _moved(comm: Communicator, job: Job) -> Rates:
    """Measure collectives in one step; what next to nothing takes of each is subtracted."""
    kinds = (*_ALONE, *_TOGETHER, _SPREAD)
    schedules = [algorithms.get(f"{kind}_direct").generate(job.rank_count) for kind in kinds]
    sizes = ((4 * job.rank_count, _SMALL_REPEATS), *zip(_MOVED_SIZES, _MOVED_REPEATS, strict=True))
    trials = [
        _Timed(Pattern.of_bytes(as_kind(kind), job.rank_count, size, np.dtype(np.float32)), schedule, repeats)
        for kind, schedule in zip(kinds, schedules, strict=True)
        for size, repeats in sizes
    ]
    by_kind = np.reshape(_taken_s(comm, trials), (len(kinds), len(sizes)))
    gathered, reduced, exchanged, scattered, spread = (
        _rates(schedule, taken_s) for schedule, taken_s in zip(schedules, by_kind, strict=True)
    )
    return Rates(
        _MOVED_SIZES,
        tuple(map(WorkRates, gathered, reduced)),
        tuple(map(WorkRates, exchanged, scattered)),
        tuple(spread),
    )


def _rates(schedule: Schedule, taken_s: NDArray[np.float64]) -> list[float]:
    """Return the bytes per second for each size that are moved in what it takes more than next to nothing."""
    moved = float(Footprint.of(schedule).moved.sum())
    empty_s, *full_s = taken_s.tolist()
    return [
        moved * size / max(_LEAST_S, each_s - empty_s)
        for size, each_s in zip(_MOVED_SIZES, full_s, strict=True)
    ]


def _copied(comm: Communicator, job: Job) -> Rates:
    """Measure what cores copy and add while all ranks do, and what share of them ranks get beside all else."""
    copying, adding = (np.array([_rate(size, work) for size in _COPIED_SIZES]) for work in (np.copyto, add))
    comm.barrier()
    crowded = sum(everybodys(comm, _crowded_rate()))
    cores = min(job.rank_count, cores_of_all(comm._core))
    share = min(1.0, crowded / (cores * float(copying[0])))
    alone = [
        WorkRates(share * copies, share / (1 / copies + 1 / adds))
        for copies, adds in zip(copying, adding, strict=True)
    ]
    together = [WorkRates(cores * rate.copied, cores * rate.combined) for rate in alone]
    return Rates(_COPIED_SIZES, tuple(alone), tuple(together))


@lru_cache(maxsize=1)
def _arrays() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    return np.ones(_COPIED_SIZES[-1] // 4, np.float32), np.ones(_COPIED_SIZES[-1] // 4, np.float32)


def _rate(nbytes: int, work: Work) -> float:
    """Return the bytes per second that this rank's core gets done of them at best, while all ranks are at it."""
    total, addend = (array[: nbytes // 4] for array in _arrays())
    return best_rate(work, total, addend, _COPIED_REPEATS)


def _crowded_rate() -> float:
    """Return the bytes per second that this rank copies in its own cache for a while in which all ranks do."""
    total, addend = (array[: _COPIED_SIZES[0] // 4] for array in _arrays())
    begin, copied = time.perf_counter(), 0
    while (elapsed_s := time.perf_counter() - begin) < _CROWDED_S:
        np.copyto(total, addend)
        copied += _COPIED_SIZES[0]
    return copied / elapsed_s
