# SPDX-License-Identifier: Apache-2.0
"""Whether predictions hold on this machine: a prediction stands beside a measurement, and beside a second run of the
same setting.

No prediction can tell two runs of a setting apart, so an error counts from the nearer of the two. A bound above both is
a bound that does not hold."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hemiola.bounds import lower_bound
from hemiola.communicator import Communicator, init
from hemiola.doctor.engine import WARMUPS, Engine
from hemiola.doctor.settings import Job, Setting
from hemiola.launch import launch
from hemiola.measure.reports import Reports, report
from hemiola.measure.trial import RankTimes, Trial, combine, measure
from hemiola.progress import ProgressBar
from hemiola.simulate import simulate

#: How long the repetitions of one run take about, and how many they are.
_RUN_S, _FEWEST, _MOST = 0.1, 3, 20


@dataclass(frozen=True)
class Row:
    """A setting's outcome; times in seconds. `measured_s` holds the medians of its two runs, `network_s` is the planned
    time of the network alone, without the engine."""

    setting: Setting
    algorithm: str
    predicted_s: float
    bound_s: float
    measured_s: tuple[float, float]
    network_s: float
    wrong: int = 0

    @property
    def repeatability(self) -> float:
        """By how much the slower run took longer than the faster, as a share of that."""
        return max(self.measured_s) / min(self.measured_s) - 1

    @property
    def error(self) -> float:
        """How far the prediction lies outside the two runs, as a share of the nearer; below 0 where it is too low."""
        return self._beyond(self.predicted_s)

    @property
    def network_error(self) -> float:
        """The same of the network alone."""
        return self._beyond(self.network_s)

    @property
    def is_bound_broken(self) -> bool:
        """Whether both runs were faster than the alleged lower bound."""
        return self.bound_s > max(self.measured_s)

    def _beyond(self, seconds: float) -> float:
        nearest_s = min(max(seconds, min(self.measured_s)), max(self.measured_s))
        return seconds / nearest_s - 1


@dataclass(frozen=True)
class Summary:
    """The errors of one wire's rows together; shares of the measured times. `network_median` is the error's median if
    the prediction were the network's time alone."""

    wire: str
    count: int
    median: float
    p95: float
    network_median: float
    median_repeatability: float
    p95_repeatability: float
    broken_bounds: int


def summaries(rows: Sequence[Row]) -> list[Summary]:
    """Sum up rows, shared memory and the emulated wire apart; a wire without rows is left out."""
    wires = dict.fromkeys(row.setting.job.wire for row in rows)
    return [_summary(wire, [row for row in rows if row.setting.job.wire == wire]) for wire in wires]


def _summary(wire: str, rows: Sequence[Row]) -> Summary:
    errors = np.array([abs(row.error) for row in rows])
    again = np.array([row.repeatability for row in rows])
    return Summary(
        wire,
        len(rows),
        float(np.median(errors)),
        float(np.percentile(errors, 95)),
        float(np.median([abs(row.network_error) for row in rows])),
        float(np.median(again)),
        float(np.percentile(again, 95)),
        sum(row.is_bound_broken for row in rows),
    )


def hold_to_truth(
    jobs: Sequence[tuple[Job, Sequence[Setting]]],
    on_row: Callable[[Row], None],
    budget_s: float | None = None,
) -> None:
    """Predict and measure settings, job after job, on local processes.

    Parameters
    ----------
    jobs : with the settings of each.
    on_row : called in another thread with each row as soon as it is there.
    budget_s : float, optional. Each job has an equal part of the remaining time, and no setting begins after that, but
        for its first. None begins for which less is left than the longest has taken.

    Raises
    ------
    LostRankError, TimeoutError, FailedRankError
        as the ranks raised them.

    Notes
    -----
    One process per rank. The communicator's own choices run. The prediction includes the engine's costs here
    (`Engine`), which each job measures first. Repetitions are spaced by barriers: one takes from the first rank's
    leaving the barrier to the last rank's end.
    """
    until_s = None if budget_s is None else time.monotonic() + budget_s
    longest_s = 0.0
    with ProgressBar("measuring") as bar:
        for done, (job, settings) in enumerate(jobs):
            bar(done, len(jobs))
            now_s = time.monotonic()
            if until_s is not None and now_s + longest_s >= until_s:
                return
            job_until_s = None if until_s is None else now_s + (until_s - now_s) / (len(jobs) - done)
            _run_job(job, settings, on_row, job_until_s)
            longest_s = max(longest_s, time.monotonic() - now_s)


def _run_job(
    job: Job, settings: Sequence[Setting], on_row: Callable[[Row], None], until_s: float | None
) -> None:
    def take(index: int, seen: Sequence[_Seen]) -> None:
        pattern, first = settings[index].pattern, seen[0]
        runs = [combine(pattern, [one.runs[run] for one in seen], spaced=True) for run in range(2)]
        on_row(
            Row(
                settings[index],
                first.algorithm,
                first.predicted_s,
                first.bound_s,
                (runs[0].p50_s, runs[1].p50_s),
                first.network_s,
                sum(run.wrong for run in runs),
            )
        )

    emulated = job.emulated
    conditions = None if emulated is None else job.conditions
    with Reports(job.rank_count, take) as reports:
        launch(
            _hold_as_rank,
            job.rank_count,
            tuple(settings),
            reports.path,
            until_s,
            emulate=emulated,
            conditions=conditions,
        )


@dataclass(frozen=True)
class _Begun:
    """What was predicted of a setting, and what this rank saw of its first run."""

    index: int
    algorithm: str
    predicted_s: float
    network_s: float
    bound_s: float
    trial: Trial
    first: RankTimes


@dataclass(frozen=True)
class _Seen:
    """What one rank saw of a setting's two runs, and what it predicted."""

    algorithm: str
    predicted_s: float
    network_s: float
    bound_s: float
    runs: tuple[RankTimes, RankTimes]


def _hold_as_rank(settings: Sequence[Setting], told: Path, until_s: float | None) -> None:
    """Predict and measure the settings of a job, as one of its ranks.

    Another setting's first run lies between the two of a setting, so that what a moment does to one it does not do to
    both.
    """
    comm = init()
    engine = Engine.measured(comm, settings[0].job)
    begun: _Begun | None = None
    for index, setting in enumerate(settings):
        if index > 0 and not _goes_on(comm, until_s):
            break
        before, begun = begun, _first_run(comm, engine, index, setting)
        if before is not None:
            _second_run(comm, before, told)
    if begun is not None:
        _second_run(comm, begun, told)


def _first_run(comm: Communicator, engine: Engine, index: int, setting: Setting) -> _Begun:
    pattern, conditions = setting.pattern, setting.job.conditions
    kind, nbytes = pattern.kind, pattern.nbytes
    chosen = comm.plan(kind, nbytes)
    schedule = chosen.schedule
    predicted_s = engine.seconds(schedule, nbytes, conditions)
    repeats = int(np.clip(_RUN_S / predicted_s, _FEWEST, _MOST))
    trial = Trial(pattern=pattern, schedule=schedule, spaced=True, warmups=WARMUPS, repeats=repeats)
    bound_s = lower_bound(comm.fastest_topology, kind, nbytes, conditions=conditions).seconds
    network_s = simulate(schedule, comm.topology, nbytes, conditions).seconds
    return _Begun(index, chosen.name, predicted_s, network_s, bound_s, trial, measure(comm, trial))


def _second_run(comm: Communicator, begun: _Begun, told: Path) -> None:
    runs = begun.first, measure(comm, begun.trial)
    seen = _Seen(begun.algorithm, begun.predicted_s, begun.network_s, begun.bound_s, runs)
    report(told, begun.index, comm.rank, seen)


def _goes_on(comm: Communicator, until_s: float | None) -> bool:
    """Return whether rank 0 sees time for another setting; the clock is the same for all, when they look is not."""
    if until_s is None:
        return True
    return bool(comm.broadcast(np.array([time.monotonic() < until_s]))[0])
