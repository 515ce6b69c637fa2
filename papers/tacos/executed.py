# SPDX-License-Identifier: Apache-2.0
"""Synthesized all-reduces on real processes over the emulated wire: exactness, and measured beside simulated time."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hemiola import algorithms, topologies
from hemiola._core import Schedule, Topology
from hemiola.communicator import init
from hemiola.launch import launch
from hemiola.measure.pattern import Pattern
from hemiola.simulate import simulate
from hemiola.synthesis import search
from hemiola.verify import verify
from papers.report import Report
from papers.tacos.measure import KIND

#: Links slow enough that nine processes keep up with them on two cores, other work beside them.
_LATENCY_S, _BANDWIDTH = 5e-3, 1e6
_NBYTES = 2_880_000  # divides among 5 to 9 ranks with up to 8 chunks each
_REPETITIONS = 3
_TIMEOUT_S = 120.0


def small_networks() -> dict[str, Topology]:
    """Return four graphs that no basic algorithm is made for."""
    return {
        "2D mesh 3x3": topologies.mesh([3, 3], latency_s=_LATENCY_S, bandwidth=_BANDWIDTH),
        "2D mesh 2x3, 1/1.5 MB/s": topologies.mesh(
            [2, 3], latency_s=_LATENCY_S, bandwidth=[_BANDWIDTH, 1.5 * _BANDWIDTH]
        ),
        "3D hypercube 2x2x2": topologies.hypercube([2, 2, 2], latency_s=_LATENCY_S, bandwidth=_BANDWIDTH),
        "DGX-1": topologies.dgx1(latency_s=_LATENCY_S, bandwidth=_BANDWIDTH / 2),
    }


@dataclass(frozen=True)
class Run:
    """A rank's observation of one schedule.

    Attributes
    ----------
    entered_s, left_s : list of float, one per repetition, on the clock that all local processes share.
    wrong : int, elements of its results that differ from the expected ones.
    """

    entered_s: list[float]
    left_s: list[float]
    wrong: int


def run_rank(schedule_texts: Sequence[str], nbytes: int, repetitions: int) -> list[Run]:
    """Run the schedules one after the other; every rank calls it."""
    comm = init()
    pattern = Pattern(KIND, comm.rank_count, nbytes // 8, np.dtype(np.int64))
    given = pattern.input_of(comm.rank)
    runs = []
    for text in schedule_texts:
        schedule = Schedule.from_text(text)
        entered, left, wrong = [], [], 0
        for repetition in range(repetitions + 1):
            x = given.copy()
            comm.barrier()
            entered.append(time.perf_counter())
            comm.all_reduce(x, schedule=schedule)
            left.append(time.perf_counter())
            wrong += pattern.wrong(comm.rank, x)
            if repetition == 0:  # made the buffers and compiled the schedule
                entered, left = [], []
        runs.append(Run(entered, left, wrong))
    return runs


@dataclass(frozen=True)
class Measurement:
    """One schedule on one network: median of the repetitions, from the last rank's entry to the last rank's exit."""

    seconds: float
    wrong: int


def measure(
    network: Topology,
    schedules: Mapping[str, Schedule],
    nbytes: int = _NBYTES,
    repetitions: int = _REPETITIONS,
) -> dict[str, Measurement]:
    """Run schedules on as many processes as the network has ranks, over the emulated wire."""
    texts = [schedule.to_text() for schedule in schedules.values()]
    by_rank = launch(
        run_rank, network.rank_count, texts, nbytes, repetitions, emulate=network, timeout_s=_TIMEOUT_S
    )
    measured = {}
    for index, label in enumerate(schedules):
        runs = [runs[index] for runs in by_rank]
        times = [
            max(run.left_s[i] for run in runs) - max(run.entered_s[i] for run in runs)
            for i in range(repetitions)
        ]
        measured[label] = Measurement(statistics.median(times), sum(run.wrong for run in runs))
    return measured


def fastest(network: Topology, nbytes: int) -> Schedule:
    """Return the synthesized all-reduce that simulates fastest, links shared fairly as the emulated wire does."""
    found = [search(network, KIND, chunks, nbytes=nbytes, progress=False).schedule for chunks in (1, 2, 4)]
    return min(found, key=lambda schedule: simulate(schedule, network, nbytes).seconds)


def executed(
    report: Report, command: str, *, networks: Mapping[str, Topology] | None = None, nbytes: int = _NBYTES
) -> None:
    """Four small graphs."""
    report.section(
        "Executed: real processes over the emulated wire",
        f"All-reduce of {nbytes / 1e6:g} MB of int64, one process per rank, links of "
        f"{_BANDWIDTH / 1e6:g} MB/s and {_LATENCY_S * 1e3:g} ms unless named otherwise. Times are medians "
        f"of {_REPETITIONS} repetitions after one that is not counted, from the last rank's entry to the "
        "last rank's exit; simulations share links fairly, as the wire does. `wrong` counts elements of "
        "all ranks and repetitions that differ from the exact sum.",
        command,
    )
    rows = []
    for name, network in (networks or small_networks()).items():
        schedules = {
            "Ring": algorithms.all_reduce_ring_two_way(network.rank_count),
            "Hemiola": fastest(network, nbytes),
        }
        assert not verify(schedules["Hemiola"], topology=network)
        measured = measure(network, schedules, nbytes)
        simulated = {label: simulate(s, network, nbytes).seconds for label, s in schedules.items()}
        for label, found in measured.items():
            times = (simulated[label] * 1e3, found.seconds * 1e3, found.seconds / simulated[label])
            over_ring = (
                simulated["Ring"] / simulated[label],
                measured["Ring"].seconds / found.seconds,
            )
            rows.append((name, label, found.wrong, *times, *over_ring))
    columns = ("network", "schedule", "wrong", "simulated, ms", "measured, ms", "measured / simulated")
    over = ("Ring / this, simulated", "Ring / this, measured")
    report.table("executed", (*columns, *over), rows)
