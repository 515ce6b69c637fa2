# SPDX-License-Identifier: Apache-2.0
"""Algorithms side by side: the same collective on real buffers by each of them, beside its prediction and the bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hemiola import algorithms
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
from hemiola.measure.reports import Reports, report
from hemiola.measure.trial import Measured, RankTimes, Trial, check_room, combine, measure
from hemiola.planner import plan
from hemiola.progress import ProgressBar
from hemiola.simulate import simulate
from hemiola.topology.named_nics import settled
from hemiola.topology.port_speed import PortSpeed, port_speed
from hemiola.verify import refuse_wrong


@dataclass(frozen=True)
class Contest:
    """A comparison: a collective on known data by several algorithms, each repeated.

    `algorithms` holds names, or "auto" for the planner's choice, or "all" for everything that can run it; `schedules`
    holds schedules of your own with their labels. `emulate` is the cluster to imitate; None means this machine as it
    is.
    """

    pattern: Pattern
    algorithms: tuple[str, ...] = ("auto",)
    schedules: tuple[tuple[str, Schedule], ...] = ()
    emulate: Topology | None = None
    conditions: Conditions = field(default_factory=Conditions)
    in_place: bool = False
    warmups: int = 2
    repeats: int = 20


@dataclass(frozen=True)
class Row:
    """One schedule's result: the simulation's prediction, in seconds, and the measurement."""

    label: str
    step_count: int
    predicted_s: float
    measured: Measured


@dataclass(frozen=True)
class Comparison:
    """The result, the fastest first, the planner's choice among all that could run, and the late ranks."""

    contest: Contest
    topology: Topology
    bound: LowerBound
    planned: str
    rows: tuple[Row, ...]
    arrivals: Arrivals
    health: Health


def compare(
    contest: Contest, on_measured: Callable[[str, Measured], None] | None = None, *, job: Job | None = None
) -> Comparison:
    """Run a contest on local processes, or as one of the ranks of a job.

    Parameters
    ----------
    contest : Contest.
    on_measured : optional; called with each algorithm's label and times as soon as it is measured: in another
        thread; in a job on rank 0.
    job : Job, optional, of which this process is a rank already, and all call this.

    Returns
    -------
    Comparison, on all ranks of a job. Predictions are simulations on the emulated cluster, or on this machine as its
    ranks measured it.

    Raises
    ------
    ArgumentError
        for an algorithm that does not exist or cannot run this, conditions that do not fit or have no cluster.
    LostRankError, TimeoutError, FailedRankError
        as the ranks raised them.

    Notes
    -----
    Takes as long as all repetitions, plus about a second to start the ranks. One process per rank.
    """
    _check(contest, None if job is None else job.host_rank_count)
    asked, contest = contest, _settled(contest)
    pattern, emulated = contest.pattern, contest.emulate
    conditions = None if emulated is None else contest.conditions

    def take(_: int, seen: Sequence[tuple[str, RankTimes]]) -> None:
        if on_measured is not None:
            times = [one for _, one in seen]
            on_measured(seen[0][0], combine(pattern, times, spaced=emulated is not None))

    if job is not None:
        with init(emulate=emulated, conditions=conditions) as comm:

            def tell(index: int, own: tuple[str, RankTimes]) -> None:
                seen = everybodys(comm, own)
                if comm.rank == 0:
                    take(index, seen)

            reports = everybodys(comm, _contend_in(comm, contest, tell))
    else:
        with Reports(pattern.rank_count, take) as told:
            reports = launch(
                _contend, pattern.rank_count, contest, told.path, emulate=emulated, conditions=conditions
            )
    topology, fastest, _, arrivals, health = reports[0]
    bound = lower_bound(
        fastest, pattern.kind, pattern.nbytes, conditions=contest.conditions, root=pattern.root
    )
    chosen = plan(topology, pattern.kind, pattern.nbytes, contest.conditions, root=pattern.root)
    rows = []
    for index, (label, schedule) in enumerate(schedules_of(contest, topology).items()):
        timeline = simulate(schedule, topology, pattern.nbytes, contest.conditions)
        measured = combine(
            pattern, [times[index] for _, _, times, *_ in reports], spaced=emulated is not None
        )
        rows.append(Row(label, schedule.step_count, timeline.seconds, measured))
    rows.sort(key=lambda row: row.measured.p50_s)
    winner = chosen.alternatives[0].label
    return Comparison(asked, topology, bound, winner, tuple(rows), arrivals, health)


def _settled(contest: Contest) -> Contest:
    """Make slow NICs slower links of the cluster, once for all who look at it."""
    if contest.emulate is None:
        return contest
    cluster, conditions = settled(contest.emulate, contest.conditions)
    return replace(contest, emulate=cluster, conditions=conditions)


def schedules_of(contest: Contest, topology: Topology) -> dict[str, Schedule]:
    """List the contestants on a topology, by label: the same on every rank and in the process that launched them."""
    pattern, conditions = contest.pattern, contest.conditions
    found = {}
    if "auto" in contest.algorithms:
        chosen = plan(topology, pattern.kind, pattern.nbytes, conditions, root=pattern.root)
        found[chosen.alternatives[0].label] = chosen.schedule
    for one in _able(contest, port_speed(topology, conditions)):
        if "all" in contest.algorithms or one.name in contest.algorithms:
            found[one.label] = one.generate()
    return {**found, **dict(contest.schedules)}


def _able(contest: Contest, speed: PortSpeed) -> list[Candidate]:
    """List the algorithms that can run a contest's collective, by name."""
    pattern = contest.pattern
    task = Task(pattern.kind, pattern.rank_count, pattern.nbytes, speed, contest.conditions, pattern.root)
    return sorted(candidates(task), key=lambda one: (one.name, one.variant))


#: One rank's view: the network, and the fastest that it could be, times, the late ranks, and the slow ports.
_Seen = tuple[Topology, Topology, list[RankTimes], Arrivals, Health]


def _contend(contest: Contest, told: Path) -> _Seen:
    """Measure everything, as one of the ranks that were started for it."""
    comm = init()
    return _contend_in(comm, contest, lambda index, times: report(told, index, comm.rank, times))


def _contend_in(
    comm: Communicator, contest: Contest, tell: Callable[[int, tuple[str, RankTimes]], None]
) -> _Seen:
    taking_part = schedules_of(contest, comm.topology)
    times = []
    with ProgressBar("measuring") as bar:
        for index, (label, schedule) in enumerate(taking_part.items()):
            trial = Trial(
                pattern=contest.pattern,
                schedule=schedule,
                in_place=contest.in_place,
                spaced=contest.emulate is not None,
                warmups=contest.warmups,
                repeats=contest.repeats,
            )
            times.append(measure(comm, trial))
            tell(index, (label, times[-1]))
            if comm.rank == 0:
                bar(index + 1, len(taking_part))
    return comm.topology, comm.fastest_topology, times, comm.arrivals(), comm.health()


def _check(contest: Contest, ranks_here: int | None) -> None:
    """Refuse what the ranks would refuse, before they are started."""
    check_room(contest.pattern, ranks_here)
    ranks = contest.pattern.rank_count
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
        _check_schedule(label, schedule, contest.pattern)
    # Which algorithms are able does not depend on the speed.
    able = {one.name for one in _able(contest, PortSpeed(1e-6, 1e9))}
    for name in contest.algorithms:
        if name not in (*able, "auto", "all"):
            raise ArgumentError(_unable(name, contest.pattern, sorted(able)))


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
