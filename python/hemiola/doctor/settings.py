# SPDX-License-Identifier: Apache-2.0
"""The settings in which predictions are held against measurements, in jobs of equal ranks, and a seeded sample."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hemiola import topologies
from hemiola._core import Topology
from hemiola.arguments.names import Kind
from hemiola.conditions import Conditions
from hemiola.measure.pattern import Pattern

KINDS: tuple[Kind, ...] = (
    "all_reduce",
    "reduce_scatter",
    "all_gather",
    "all_to_all",
    "broadcast",
    "reduce",
    "gather",
    "scatter",
)
SIZES = tuple(4096 << power for power in range(15))
RANK_COUNTS = tuple(range(2, 9))
#: Late and slow ranks are emulated, so they are there on the emulated wire alone.
CONDITIONS = ("none", "late", "slow")

#: A wire that processes of one machine can keep up with.
_LATENCY_S, _BANDWIDTH = 25e-6, 1e9
_LATE_S, _SLOW = 5e-3, 2.0
#: Jobs of a sample on each wire, and the most settings of each.
_SAMPLED_JOBS, _SAMPLED_SETTINGS = 6, 12


@dataclass(frozen=True)
class Job:
    """The ranks that several settings have in common: how many, by which wire, and the condition of the last one."""

    rank_count: int
    is_emulated: bool
    condition: str = "none"

    @property
    def wire(self) -> str:
        """The ranks' wire, in words."""
        return "emulated wire" if self.is_emulated else "shared memory"

    @property
    def emulated(self) -> Topology | None:
        """The network that the ranks are to behave like; None for this machine as it is."""
        if not self.is_emulated:
            return None
        return topologies.switch(self.rank_count, latency_s=_LATENCY_S, bandwidth=_BANDWIDTH)

    @property
    def conditions(self) -> Conditions:
        """The late or slow rank: the last one, by 5 ms or by a factor of 2."""
        last = self.rank_count - 1
        if self.condition == "late":
            return Conditions(late={last: _LATE_S})
        return Conditions(slow={last: _SLOW}) if self.condition == "slow" else Conditions()


@dataclass(frozen=True)
class Setting:
    """One collective of one size in a job."""

    job: Job
    kind: Kind
    nbytes: int

    @property
    def pattern(self) -> Pattern:
        """Its data: 32-bit floats, and equally many for every rank that has a block of its own."""
        return Pattern.of_bytes(self.kind, self.job.rank_count, self.nbytes, np.dtype(np.float32))


def every_job() -> list[tuple[Job, list[Setting]]]:
    """Return all settings: 840 on shared memory, 2,520 on the emulated wire."""
    jobs = [Job(ranks, False) for ranks in RANK_COUNTS]
    jobs += [Job(ranks, True, condition) for ranks in RANK_COUNTS for condition in CONDITIONS]
    return [(job, [Setting(job, kind, size) for size in SIZES for kind in KINDS]) for job in jobs]


def sampled_jobs(seed: int) -> list[tuple[Job, list[Setting]]]:
    """Return a sample, the same for the same seed: some jobs of both wires in turn, and some settings of each."""
    chance = random.Random(seed)
    jobs = every_job()
    chosen = [
        chance.sample([job for job in jobs if job[0].is_emulated == is_emulated], _SAMPLED_JOBS)
        for is_emulated in (False, True)
    ]
    return [(job, _some(chance, settings)) for pair in zip(*chosen, strict=True) for job, settings in pair]


def _some(chance: random.Random, settings: Sequence[Setting]) -> list[Setting]:
    return chance.sample(settings, _SAMPLED_SETTINGS)
