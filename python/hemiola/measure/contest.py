# SPDX-License-Identifier: Apache-2.0
"""Algorithms side by side: the same collective on real buffers by each of them, at each size, beside its prediction,
the bound, and other libraries."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hemiola import algorithms, environment
from hemiola._core import Schedule, Topology
from hemiola.algorithms import Candidate, Task, candidates
from hemiola.bounds import LowerBound, lower_bound
from hemiola.communicator import Communicator, init
from hemiola.communicator.arrivals import Arrivals
from hemiola.communicator.health import Health
from hemiola.communicator.launch_environment import Job
from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError
from hemiola.launch import launch
from hemiola.measure.joined import everybodys
from hemiola.measure.pattern import Pattern
from hemiola.measure.peers import Gloo, check_peers, running
from hemiola.measure.reports import Reports, report
from hemiola.measure.trial import Measured, RankTimes, Trial, check_room, combine, measure
from hemiola.planner import plan
from hemiola.progress import ProgressBar
from hemiola.simulate import Timeline, simulate
from hemiola.topology.named_nics import settled
from hemiola.topology.port_speed import PortSpeed, port_speed
from hemiola.transfers.recorded import whole_operations
from hemiola.verify import refuse_wrong


@dataclass(frozen=True)
class Contest:
    """A comparison: a collective on known data by several algorithms, each repeated.

    `patterns` holds the data of each size, of one collective over as many ranks. `algorithms` holds names, or "auto"
    for the planner's choice, or "all" for everything that can run it; `schedules` holds schedules of your own with
    their labels, and `peers` other libraries. `emulate` is the cluster to imitate; None means this machine as it is.
    """

    patterns: tuple[Pattern, ...]
    algorithms: tuple[str, ...] = ("auto",)
    schedules: tuple[tuple[str, Schedule], ...] = ()
    peers: tuple[str, ...] = ()
    emulate: Topology | None = None
    conditions: Conditions = field(default_factory=Conditions)
    in_place: bool = False
    warmups: int = 2
    repeats: int = 20
    #: How many of its latest messages' times each rank keeps; 0: nobody wants to see them.
    recorded: int = 0


@dataclass(frozen=True)
class Recording:
    """The repetition of median length: its prediction, and every rank's messages."""

    timeline: Timeline
    ranks: tuple[NDArray[np.void], ...]


@dataclass(frozen=True)
class Row:
    """One schedule's result: the simulation's prediction, in seconds, and the measurement. A peer has only the last."""

    label: str
    step_count: int | None
    predicted_s: float | None
    measured: Measured
    recording: Recording | None = None


@dataclass(frozen=True)
class AtSize:
    """The result at one size, the fastest first, and the planner's choice among all that could run."""

    pattern: Pattern
    bound: LowerBound
    planned: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Comparison:
    """The result at each size, and the late ranks."""

    contest: Contest
    topology: Topology
    sizes: tuple[AtSize, ...]
    arrivals: Arrivals
    health: Health


def compare(
    contest: Contest,
    on_measured: Callable[[Pattern, str, Measured], None] | None = None,
    *,
    job: Job | None = None,
) -> Comparison:
    """Run a contest on local processes, or as one of the ranks of a job.

    Parameters
    ----------
    contest : Contest.
    on_measured : optional; called with the data, each algorithm's label and its times as soon as it is measured: in
        another thread; in a job on rank 0.
    job : Job, optional, of which this process is a rank already, and all call this.

    Returns
    -------
    Comparison, on all ranks of a job. Predictions are simulations on the emulated cluster, or on this machine as its
    ranks measured it.

    Raises
    ------
    ArgumentError
        for no data, an algorithm or peer that does not exist or cannot run this, conditions that do not fit or have no
        cluster.
    MissingPackageError
        for a peer without PyTorch.
    LostRankError, TimeoutError, FailedRankError
        as the ranks raised them.

    Notes
    -----
    Takes as long as all repetitions, plus about a second to start the ranks. One process per rank.
    """
    _check(contest, None if job is None else job.host_rank_count)
    asked, contest = contest, _settled(contest)
    emulated = contest.emulate
    conditions = None if emulated is None else contest.conditions

    def take(_: int, seen: Sequence[_Told]) -> None:
        if on_measured is not None:
            place, label, _times = seen[0]
            pattern = contest.patterns[place]
            on_measured(pattern, label, _combined(contest, pattern, [times for *_, times in seen]))

    if job is not None:
        _begin_recording(contest)
        with init(emulate=emulated, conditions=conditions) as comm:

            def tell(index: int, own: _Told) -> None:
                seen = everybodys(comm, own)
                if comm.rank == 0:
                    take(index, seen)

            reports = everybodys(comm, _contend_in(comm, contest, tell))
    else:
        with Reports(contest.patterns[0].rank_count, take) as told:
            reports = launch(
                _contend,
                contest.patterns[0].rank_count,
                contest,
                told.path,
                emulate=emulated,
                conditions=conditions,
            )
    topology, fastest, _, arrivals, health = reports[0]
    sizes = tuple(
        _at_size(contest, pattern, topology, fastest, [times[place] for _, _, times, *_ in reports])
        for place, pattern in enumerate(contest.patterns)
    )
    return Comparison(asked, topology, sizes, arrivals, health)


def _at_size(
    contest: Contest,
    pattern: Pattern,
    topology: Topology,
    fastest: Topology,
    times: Sequence[Sequence[RankTimes]],
) -> AtSize:
    """Put the ranks' times of each contestant beside its prediction."""
    conditions = contest.conditions
    bound = lower_bound(fastest, pattern.kind, pattern.nbytes, conditions=conditions, root=pattern.root)
    chosen = plan(topology, pattern.kind, pattern.nbytes, conditions, root=pattern.root)
    rows = []
    measured = [_combined(contest, pattern, ranks) for ranks in zip(*times, strict=True)]
    schedules = schedules_of(contest, pattern, topology)
    kept = [[one.transfers for one in ranks] for ranks in zip(*times, strict=True)]
    of_schedules = zip(schedules.items(), measured[: len(schedules)], kept[: len(schedules)], strict=True)
    for (label, schedule), one, told in of_schedules:
        timeline = simulate(schedule, topology, pattern.nbytes, conditions)
        rows.append(Row(label, schedule.step_count, timeline.seconds, one, _recording(timeline, told)))
    for name, one in zip(contest.peers, measured[len(schedules) :], strict=True):
        rows.append(Row(name, None, None, one))
    rows.sort(key=lambda row: row.measured.p50_s)
    return AtSize(pattern, bound, chosen.alternatives[0].label, tuple(rows))


def _begin_recording(contest: Contest) -> None:
    """Have the next communicator of this process, which is a rank, keep its messages' times."""
    if contest.recorded:
        os.environ[environment.RECORD_TRANSFERS.name] = str(contest.recorded)


def _recording(timeline: Timeline, told: Sequence[NDArray[np.void] | None]) -> Recording | None:
    """Return the repetition of median length; all messages where none is whole. Barriers may have messages, too, with
    fewer bytes."""
    ranks = [rows for rows in told if rows is not None]
    if not ranks:
        return None
    lengths = {one: float(messages["land_s"].max()) for one, messages in whole_operations(ranks).items()}
    moved = {
        one: sum(int(rows["nbytes"][rows["operation"] == one].sum()) for rows in ranks) for one in lengths
    }
    repeats = sorted((length, one) for one, length in lengths.items() if moved[one] == max(moved.values()))
    if repeats:
        _, chosen = repeats[len(repeats) // 2]
        ranks = [rows[rows["operation"] == chosen] for rows in ranks]
    return Recording(timeline, tuple(ranks))


def _combined(contest: Contest, pattern: Pattern, ranks: Sequence[RankTimes]) -> Measured:
    return combine(pattern, ranks, spaced=contest.emulate is not None)


def _settled(contest: Contest) -> Contest:
    """Make slow NICs slower links of the cluster, once for all who look at it."""
    if contest.emulate is None:
        return contest
    cluster, conditions = settled(contest.emulate, contest.conditions)
    return replace(contest, emulate=cluster, conditions=conditions)


def schedules_of(contest: Contest, pattern: Pattern, topology: Topology) -> dict[str, Schedule]:
    """List the contestants on a topology, by label: the same on every rank and in the process that launched them."""
    conditions = contest.conditions
    found = {}
    if "auto" in contest.algorithms:
        chosen = plan(topology, pattern.kind, pattern.nbytes, conditions, root=pattern.root)
        found[chosen.alternatives[0].label] = chosen.schedule
    for one in _able(contest, pattern, port_speed(topology, conditions)):
        if "all" in contest.algorithms or one.name in contest.algorithms:
            found[one.label] = one.generate()
    return {**found, **dict(contest.schedules)}


def _able(contest: Contest, pattern: Pattern, speed: PortSpeed) -> list[Candidate]:
    """List the algorithms that can run a contest's collective, by name."""
    task = Task(pattern.kind, pattern.rank_count, pattern.nbytes, speed, contest.conditions, pattern.root)
    return sorted(candidates(task), key=lambda one: (one.name, one.variant))


#: One rank's view: the network, and the fastest that it could be, times by size, the late ranks, and the slow ports.
_Seen = tuple[Topology, Topology, list[list[RankTimes]], Arrivals, Health]
#: One measurement of a rank: the place of its size, its label, and its times.
_Told = tuple[int, str, RankTimes]


def _contend(contest: Contest, told: Path) -> _Seen:
    """Measure everything, as one of the ranks that were started for it."""
    _begin_recording(contest)
    comm = init()
    return _contend_in(comm, contest, lambda index, times: report(told, index, comm.rank, times))


def _contend_in(comm: Communicator, contest: Contest, tell: Callable[[int, _Told], None]) -> _Seen:
    taking_part = [schedules_of(contest, pattern, comm.topology) for pattern in contest.patterns]
    count = sum(map(len, taking_part)) + len(contest.peers) * len(contest.patterns)
    times: list[list[RankTimes]] = [[] for _ in contest.patterns]
    with ProgressBar("measuring") as bar, running(contest.peers, comm) as libraries:
        index = 0
        for place, (pattern, schedules) in enumerate(zip(contest.patterns, taking_part, strict=True)):
            contestants: list[tuple[str, Schedule | None, Gloo | None]] = [
                *((label, schedule, None) for label, schedule in schedules.items()),
                *((name, None, library) for name, library in libraries.items()),
            ]
            for label, schedule, library in contestants:
                trial = Trial(
                    pattern=pattern,
                    schedule=schedule,
                    in_place=contest.in_place and library is None,
                    spaced=contest.emulate is not None,
                    warmups=contest.warmups,
                    repeats=contest.repeats,
                )
                times[place].append(measure(comm, trial, library))
                tell(index, (place, label, replace(times[place][-1], transfers=None)))
                index += 1
                if comm.rank == 0:
                    bar(index, count)
    return comm.topology, comm.fastest_topology, times, comm.arrivals(), comm.health()


def _check(contest: Contest, ranks_here: int | None) -> None:
    """Refuse what the ranks would refuse, before they are started."""
    if not contest.patterns:
        raise ArgumentError("nothing to run: expected at least one size, found none")
    for pattern in contest.patterns:
        check_room(pattern, ranks_here)
    first = contest.patterns[0]
    check_peers(contest.peers, first, contest.emulate)
    ranks = first.rank_count
    if contest.emulate is not None and contest.emulate.rank_count != ranks:
        raise ArgumentError(f"expected a cluster of {ranks} ranks, found {contest.emulate.rank_count}")
    if contest.emulate is None and (contest.conditions.late or contest.conditions.slow):
        raise ArgumentError(
            "late and slow ranks are emulated, so they need a cluster: --emulate, or emulate=topology"
        )
    if contest.repeats < 1 or contest.warmups < 0:
        raise ArgumentError(
            f"expected at least 1 repetition, found {contest.repeats} after {contest.warmups}"
        )
    if not contest.algorithms and not contest.schedules:
        raise ArgumentError("nothing to run: expected an algorithm, 'auto', 'all', or a schedule")
    for label, schedule in contest.schedules:
        if label in contest.peers:
            raise ArgumentError(
                f"expected a schedule of another name than the peer '{label}'; rename its file"
            )
        _check_schedule(label, schedule, first)
    # Which algorithms are able does not depend on the speed.
    able = {one.name for one in _able(contest, first, PortSpeed(1e-6, 1e9))}
    for name in contest.algorithms:
        if name not in (*able, "auto", "all"):
            raise ArgumentError(_unable(name, first, sorted(able)))


def _check_schedule(label: str, schedule: Schedule, pattern: Pattern) -> None:
    collective = schedule.collective
    if (collective.kind, schedule.rank_count) != (pattern.kind, pattern.rank_count):
        found = f"{collective.kind} on {schedule.rank_count}"
        raise ArgumentError(
            f"expected a schedule for {pattern.kind} on {pattern.rank_count} ranks, found one for {found}"
        )
    refuse_wrong(schedule, f"schedule '{label}'")


def _unable(name: str, pattern: Pattern, able: Sequence[str]) -> str:
    if name in algorithms.names():
        entry = algorithms.get(name)
        reason = f"'{name}' runs {entry.kind}, for {entry.sizes}"
    else:
        reason = f"there is no '{name[:60]}'"
    return f"{reason}; {pattern.kind} on {pattern.rank_count} ranks can be run by: {', '.join(able)}"
