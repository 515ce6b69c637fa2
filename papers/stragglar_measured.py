# SPDX-License-Identifier: Apache-2.0
"""Real processes on an emulated cluster: the late rank found as it comes, against the ring in the same run."""

from __future__ import annotations

import dataclasses
import os
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from hemiola import algorithms, topologies
from hemiola._core import LateRule, Topology
from hemiola.communicator import init
from hemiola.communicator.control_plane import control_plane, meeting_at_an_address
from hemiola.conditions import Conditions
from hemiola.launch import launch
from hemiola.planner.late_rule import late_rule
from hemiola.simulate import simulate
from hemiola.topology.port_speed import port_speed
from hemiola.units import format_bytes
from papers.report import Report

RING, LATE = "all_reduce_ring", "all_reduce_late"
#: What the training runs in turn; None leaves it to the planner, which notices by itself that a rank is late.
_TRAINED_WITH = (RING, LATE, None)
_LIMIT_S = 1800.0
_WARM_UPS = 3
#: The longest that a rank sleeps before a training step.
_LONGEST_SLEEP_S = 0.05


@dataclass(frozen=True)
class LateCluster:
    """Eight hosts of one port each; the last comes late by the time of the others' reduce-scatter."""

    rank_count: int = 8
    nbytes: int = 32 << 20
    latency_s: float = 100e-6
    bandwidth: float = 200e6
    repeats: int = 25
    control_plane: str = "local"
    #: Variables of the environment by which ranks meet, where the control plane needs some.
    meeting: Mapping[str, str] = field(default_factory=dict)

    @property
    def cluster(self) -> Topology:
        return topologies.switch(self.rank_count, latency_s=self.latency_s, bandwidth=self.bandwidth)

    @property
    def rule(self) -> LateRule:
        return late_rule(
            self.rank_count,
            self.nbytes,
            port_speed(self.cluster),
            algorithms.all_reduce_ring(self.rank_count),
        )

    @property
    def delay_s(self) -> float:
        """How long the others' reduce-scatter takes, in as many segments as it is run."""
        early = self.rank_count - 1
        return (early - 1) * (self.rule.segments * self.latency_s + self.nbytes / early / self.bandwidth)

    def predicted_s(self) -> dict[str, float]:
        """Simulate the ranks' schedule, and return the seconds after the late rank's arrival."""
        n, ring, rule = self.rank_count, algorithms.all_reduce_ring(self.rank_count), self.rule
        late = algorithms.all_reduce_late_segmented(
            n,
            n - 1,
            segments=rule.segments,
            reduced=rule.segments,
            chunks_per_owner=rule.chunks_per_owner,
        )
        delayed = Conditions(late={n - 1: self.delay_s})
        return {
            name: simulate(schedule, self.cluster, self.nbytes, conditions=delayed).seconds - self.delay_s
            for name, schedule in ((RING, ring), (LATE, late))
        }


def _all_reduce(setting: LateCluster) -> list[list[tuple[float, float]]]:
    """Time both, in turn, as one of the ranks: when each call began and ended. The first rounds warm memory up."""
    os.environ.update(setting.meeting)
    with control_plane(setting.control_plane):
        comm = init()
    x, delay_s = np.zeros(setting.nbytes // 4, np.float32), setting.delay_s
    rounds = []
    for _ in range(setting.repeats + _WARM_UPS):
        row = []
        for name in (RING, LATE):
            comm.barrier()
            if comm.rank == comm.rank_count - 1:
                time.sleep(delay_s)
            begin_s = time.monotonic()
            comm.all_reduce(x, schedule=name)
            row.append((begin_s, time.monotonic()))
        rounds.append(row)
    return rounds[_WARM_UPS:]


def exposed_times(setting: LateCluster) -> dict[str, list[float]]:
    """Run both on real processes.

    Returns
    -------
    dict: for the ring and the late all-reduce, seconds from the late rank's call to the end on all ranks, by round.
    """
    ranks = np.array(
        launch(_all_reduce, setting.rank_count, setting, emulate=setting.cluster, timeout_s=_LIMIT_S)
    )
    exposed = ranks[..., 1].max(axis=0) - ranks[-1, ..., 0]
    return {name: exposed[:, column].tolist() for column, name in enumerate((RING, LATE))}


def measured_all_reduce(report: Report, setting: LateCluster, command: str) -> None:
    """Exposed time of 8 processes, beside the simulator's."""
    predicted, found = setting.predicted_s(), exposed_times(setting)
    apart = dataclasses.replace(setting, control_plane="hosts", meeting=meeting_at_an_address())
    by_messages = exposed_times(apart)[LATE]
    size = format_bytes(setting.nbytes)
    report.section(
        f"Measured: {setting.rank_count} processes, {size}, emulated ports of {setting.bandwidth / 1e6:g} MB/s",
        f"{size}, the last rank late by {setting.delay_s * 1e3:.0f} ms, the time of the others' "
        f"reduce-scatter; nobody is told so. Exposed time, ms, from its call to the end on all ranks; "
        f"{setting.repeats} rounds, both in turn. Where the processes outnumber the cores, the emulated "
        "ports wait for a core, and times are above the simulator's by that; the fastest round says the most. "
        "`by messages`: ranks agree as those of several hosts do, over TCP, in a run of its own.",
        command,
    )
    rows = []
    for label, name, times in (
        (RING, RING, found[RING]),
        (LATE, LATE, found[LATE]),
        (f"{LATE}, by messages", LATE, by_messages),
    ):
        p50, best = statistics.median(times), min(times)
        spread = np.percentile(times, [10, 90]) * 1e3
        told = f"{spread[0]:.0f} … {spread[1]:.0f}"
        rows.append((label, predicted[name] * 1e3, best * 1e3, p50 * 1e3, told, p50 / predicted[name]))
    ratios = [a / b for a, b in zip(found[RING], found[LATE], strict=True)]
    columns = ("", "simulated", "fastest", "median", "10 … 90 %", "median / simulated")
    key = f"{setting.nbytes}_bytes"
    report.table(f"measured_all_reduce_{key}", columns, rows)
    report.table(
        f"measured_ratio_{key}",
        ("ring / late", "simulated", "of the fastest", "of the medians", "median of the rounds'"),
        [
            (
                "",
                predicted[RING] / predicted[LATE],
                min(found[RING]) / min(found[LATE]),
                statistics.median(found[RING]) / statistics.median(found[LATE]),
                statistics.median(ratios),
            )
        ],
    )


@dataclass(frozen=True)
class Training:
    """Digits on emulated hosts, with one rank that sleeps a random time before each step.

    The network is the example's own; its gradient of 1.3 MB takes 27 ms through a port, so that a step is neither all
    waiting nor all computing. Ports that are slow enough leave the cores, of which there are fewer than ranks, idle.
    """

    rank_count: int = 4
    widths: tuple[int, ...] = (64, 512, 256, 10)
    epochs: int = 2
    batch: int = 64
    seeds: tuple[int, ...] = (1, 2, 3, 4, 5, 6)
    latency_s: float = 100e-6
    bandwidth: float = 50e6


def _train(training: Training) -> list[list[tuple[float, list[float]]]]:
    """Train with each all-reduce for every seed, in turn, as one of the ranks: wall time and losses."""
    from hemiola.demo.training import Digits, Task, train_together

    comm, digits = init(), Digits.load()
    rows = []
    for seed in (training.seeds[0], *training.seeds):  # the first is a warm-up
        row = []
        for name in _TRAINED_WITH:
            sleeps = np.random.default_rng(seed)
            task = Task(widths=training.widths, epochs=training.epochs, batch=training.batch, seed=seed)

            def sleep(sleeps: np.random.Generator = sleeps) -> None:
                pause_s = sleeps.uniform(0, _LONGEST_SLEEP_S)
                if comm.rank == comm.rank_count - 1:
                    time.sleep(pause_s)

            comm.barrier()
            begin_s = time.monotonic()
            run = train_together(comm, task, digits, after_step=sleep, schedule=name)
            row.append((time.monotonic() - begin_s, run.losses))
        rows.append(row)
    return rows[1:]


def measured_training(report: Report, training: Training, command: str) -> None:
    """Wall time of the digits example with a rank that sleeps."""
    cluster = topologies.switch(
        training.rank_count, latency_s=training.latency_s, bandwidth=training.bandwidth
    )
    ranks = launch(_train, training.rank_count, training, emulate=cluster, timeout_s=_LIMIT_S)
    steps = len(ranks[0][0][0][1])
    report.section(
        "Measured: training with a rank that sleeps 0 to 50 ms before each step",
        f"scikit-learn's digits, the example's perceptron of widths {training.widths}, {training.rank_count} ranks on "
        f"emulated ports of {training.bandwidth / 1e6:g} MB/s and {training.latency_s * 1e6:g} µs. Wall time of "
        f"{steps} steps, s, in turn in one run, by the seed of data, network and sleeps. No rank knows the "
        "sleeper. "
        f"`planner's own`: no schedule is named, and the ranks begin to look for a late one after eight steps.",
        command,
    )
    rows: list[tuple[object, ...]] = []
    ratios: dict[str, list[float]] = {"ring / late": [], "ring / planner's own": []}
    for index, seed in enumerate(training.seeds):
        runs = [[rank[index][column] for rank in ranks] for column in range(len(_TRAINED_WITH))]
        ring_s, late_s, own_s = (max(wall_s for wall_s, _ in run) for run in runs)
        same = all(losses == run[0][1] for run in runs for _, losses in run)
        ratios["ring / late"].append(ring_s / late_s)
        ratios["ring / planner's own"].append(ring_s / own_s)
        rows.append((seed, ring_s, late_s, own_s, ring_s / late_s, ring_s / own_s, "yes" if same else "no"))
    columns = ("seed", "ring", "late", "planner's own", *ratios, "losses bit-identical on all ranks")
    report.table("measured_training", columns, rows)
    report.table(
        "measured_training_ratio",
        ("", "least", "median", "greatest"),
        [(name, min(found), statistics.median(found), max(found)) for name, found in ratios.items()],
    )


def measure(report: Report, command: str, *, repeats: int = 25) -> None:
    """Add all measurements to a report; about three minutes.

    The all-reduce is measured at full size, and again with both size and bandwidth a sixteenth: by the model the
    times are the same, and the processes need a sixteenth of the cores' time to move the bytes.
    """
    setting = dataclasses.replace(LateCluster(), repeats=repeats)
    measured_all_reduce(report, setting, command)
    small = dataclasses.replace(setting, nbytes=setting.nbytes // 16, bandwidth=setting.bandwidth / 16)
    measured_all_reduce(report, small, command)
    measured_training(report, Training(), command)
