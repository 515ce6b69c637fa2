# SPDX-License-Identifier: Apache-2.0
"""All-reduces with a slow rank on real processes over the emulated wire, beside the fault-free ring of the same run."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from hemiola import algorithms, topologies
from hemiola._core import Schedule, Topology
from hemiola.communicator import init
from hemiola.conditions import Conditions
from hemiola.launch import launch
from hemiola.measure.pattern import Pattern
from hemiola.measure.trial import RankTimes, Trial, combine, measure
from hemiola.simulate import simulate
from papers.report import Report

_LATENCY_S = 50e-6
_KIND: Final = "all_reduce"
_TIMEOUT_S = 300.0
MIB = 1 << 20


@dataclass(frozen=True)
class SlowCluster:
    """So many hosts with ports of that speed, one slow by `factor`; `rounds` alternating runs of `repeats` each."""

    rank_count: int
    bandwidth: float
    nbytes: int
    factor: float = 2.0
    segments: int = 16
    rounds: int = 3
    repeats: int = 3

    def cluster(self) -> Topology:
        """Return the emulated network."""
        return topologies.switch(self.rank_count, latency_s=_LATENCY_S, bandwidth=self.bandwidth)


#: Fast ports, and some with a quarter of the bytes per second, which leave processors time on a small machine.
SETTINGS = (SlowCluster(8, 200e6, 64 * MIB), SlowCluster(8, 50e6, 16 * MIB))


def run_rank(pattern: Pattern, schedules: Sequence[Schedule], repeats: int) -> list[RankTimes]:
    """Measure schedules one after the other; every rank calls it."""
    comm = init()
    return [
        measure(comm, Trial(pattern, schedule, in_place=True, spaced=True, warmups=1, repeats=repeats))
        for schedule in schedules
    ]


@dataclass(frozen=True)
class Outcome:
    """Durations of a schedule over all rounds, its simulated time, and wrong elements on all ranks."""

    durations_s: list[float]
    simulated_s: float
    wrong: int

    @property
    def median_s(self) -> float:
        """The median duration."""
        return statistics.median(self.durations_s)


def compare(setting: SlowCluster) -> dict[str, Outcome]:
    """Run the fault-free ring, then the ring and the weighted exchange with the slow host, in turns."""
    ring = algorithms.all_reduce_ring(setting.rank_count)
    slow = {0: setting.factor}
    exchange = algorithms.all_reduce_weighted_exchange(setting.rank_count, slow, setting.segments)
    cases = {
        "fault-free ring": (ring, Conditions()),
        "weighted exchange": (exchange, Conditions(slow=slow)),
        "ring (ICCL)": (ring, Conditions(slow=slow)),
    }
    pattern = Pattern(_KIND, setting.rank_count, setting.nbytes // 4, np.dtype(np.float32))
    durations: dict[str, list[float]] = {name: [] for name in cases}
    wrong = dict.fromkeys(cases, 0)
    for _ in range(setting.rounds):
        for name, (schedule, now) in cases.items():
            by_rank = launch(
                run_rank,
                setting.rank_count,
                pattern,
                [schedule],
                setting.repeats,
                emulate=setting.cluster(),
                conditions=now,
                timeout_s=_TIMEOUT_S,
            )
            found = combine(pattern, [ranks[0] for ranks in by_rank], spaced=True)
            durations[name] += found.durations_s.tolist()
            wrong[name] += found.wrong
    return {
        name: Outcome(
            durations[name],
            simulate(schedule, setting.cluster(), setting.nbytes, conditions=now).seconds,
            wrong[name],
        )
        for name, (schedule, now) in cases.items()
    }


def measured(report: Report, command: str, settings: Sequence[SlowCluster] = SETTINGS) -> None:
    """Write the section."""
    report.section(
        "Measured: real processes over the emulated wire",
        "One process per host, ports paced to a switch, host 0 slower by l = 2. Medians over alternating launches; "
        "the ratio is to the fault-free ring of the same run. `wrong` counts elements of all ranks that differ from "
        "the exact sum. Where the measured ring takes much longer than the simulated one, processors set the pace, "
        "not ports.",
        command,
    )
    rows = []
    for setting in settings:
        outcomes = compare(setting)
        base = outcomes["fault-free ring"]
        for name, outcome in outcomes.items():
            rows.append(
                (
                    f"{setting.rank_count} hosts, {setting.bandwidth / 1e6:g} MB/s, {setting.nbytes // MIB} MiB",
                    name,
                    outcome.simulated_s * 1e3,
                    outcome.median_s * 1e3,
                    min(outcome.durations_s) * 1e3,
                    outcome.simulated_s / base.simulated_s,
                    outcome.median_s / base.median_s,
                    outcome.wrong,
                )
            )
    load, cores = os.getloadavg()[2], os.cpu_count() or 1
    report.text(
        f"Processes that wanted a processor meanwhile, on average: {load:.1f}, on {cores} cores; "
        "as many of them as there are hosts are the ranks."
    )
    columns = ("setting", "schedule", "simulated, ms", "measured, ms", "fastest, ms")
    report.table("measured", (*columns, "ratio, simulated", "ratio, measured", "wrong"), rows)
