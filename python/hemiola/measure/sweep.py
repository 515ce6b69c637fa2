# SPDX-License-Identifier: Apache-2.0
"""One collective over a range of sizes on real buffers, out of place and in place, as nccl-tests does it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hemiola import algorithms
from hemiola._core import Topology
from hemiola.bounds import lower_bound
from hemiola.communicator import Communicator, init
from hemiola.communicator.launch_environment import Job
from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError
from hemiola.launch import launch
from hemiola.measure.joined import everybodys
from hemiola.measure.pattern import Pattern
from hemiola.measure.peers import check_peers, running
from hemiola.measure.reports import Reports, report
from hemiola.measure.trial import Measured, RankTimes, Trial, check_room, combine, measure
from hemiola.progress import ProgressBar
from hemiola.topology.named_nics import settled


@dataclass(frozen=True)
class Sweep:
    """The sizes to measure: a pattern per size, by one algorithm or by the planner's choice for each size (None).

    `peers` are other libraries to measure at each size, and `emulate` is the cluster to imitate; None means this
    machine as it is.
    """

    patterns: tuple[Pattern, ...]
    algorithm: str | None = None
    peers: tuple[str, ...] = ()
    emulate: Topology | None = None
    conditions: Conditions = field(default_factory=Conditions)
    warmups: int = 5
    repeats: int = 20


@dataclass(frozen=True)
class Line:
    """One size: the algorithm that ran, its measurement out of place and in place, the time in seconds that no schedule
    can beat, and the peers' measurements out of place."""

    pattern: Pattern
    algorithm: str
    out_of_place: Measured
    in_place: Measured
    bound_s: float
    peers: Mapping[str, Measured]


@dataclass(frozen=True)
class _Seen:
    """What one rank saw of one size."""

    algorithm: str
    out_of_place: RankTimes
    in_place: RankTimes
    bound_s: float
    peers: Mapping[str, RankTimes]


def run_sweep(
    sweep: Sweep, on_line: Callable[[Line], None] | None = None, *, job: Job | None = None
) -> list[Line]:
    """Measure every size on local processes, one per rank, or as one of the ranks of a job.

    Parameters
    ----------
    sweep : Sweep.
    job : Job, optional, of which this process is a rank already, and all call this; rank 0 has the lines then, others
        none.
    on_line : optional; called in another thread with each line as soon as it is measured.

    Returns
    -------
    list of Line, one per pattern.

    Raises
    ------
    ArgumentError
        for an algorithm or peer that cannot run this, late or slow ranks without a cluster, no sizes or no repetitions.
    MissingPackageError
        for a peer without PyTorch.
    LostRankError, TimeoutError, FailedRankError
        as the ranks raised them.
    """
    _check(sweep, None if job is None else job.host_rank_count)
    conditions = sweep.conditions
    emulated = conditions if sweep.emulate is not None or conditions.late or conditions.slow else None
    rank_count = sweep.patterns[0].rank_count
    lines: list[Line] = []

    def take(index: int, seen: Sequence[_Seen]) -> None:
        lines.append(_line(sweep, index, seen))
        if on_line is not None:
            on_line(lines[-1])

    if job is not None:
        with init(emulate=sweep.emulate, conditions=emulated) as comm:

            def share(index: int, seen: _Seen) -> None:
                told = everybodys(comm, seen)
                if comm.rank == 0:
                    take(index, told)

            _measure_sizes_of(comm, sweep, share)
        return lines
    with Reports(rank_count, take) as reports:
        launch(_measure_sizes, rank_count, sweep, reports.path, emulate=sweep.emulate, conditions=emulated)
    return lines


def _measure_sizes(sweep: Sweep, reports: Path) -> None:
    """Measure every size, as one of the ranks that were started for it."""
    comm = init()
    _measure_sizes_of(comm, sweep, lambda index, seen: report(reports, index, comm.rank, seen))


def _measure_sizes_of(comm: Communicator, sweep: Sweep, tell: Callable[[int, _Seen], None]) -> None:
    with ProgressBar("measuring") as bar, running(sweep.peers, comm) as libraries:
        for index, pattern in enumerate(sweep.patterns):
            trial = Trial(
                pattern=pattern,
                schedule=sweep.algorithm,
                spaced=sweep.emulate is not None,
                warmups=sweep.warmups,
                repeats=sweep.repeats,
            )
            name = sweep.algorithm or comm.plan(pattern.kind, pattern.nbytes, pattern.root).name
            seen = _Seen(
                name,
                measure(comm, trial),
                measure(comm, replace(trial, in_place=True)),
                _bound_s(comm, sweep, pattern),
                {peer: measure(comm, trial, library) for peer, library in libraries.items()},
            )
            tell(index, seen)
            if comm.rank == 0:
                bar(index + 1, len(sweep.patterns))


def _bound_s(comm: Communicator, sweep: Sweep, pattern: Pattern) -> float:
    """Return what no schedule can beat, on rank 0; 0 elsewhere."""
    if comm.rank != 0:
        return 0.0
    network, conditions = comm.fastest_topology, sweep.conditions
    if sweep.emulate is not None:
        _, conditions = settled(sweep.emulate, conditions)
    return float(lower_bound(network, pattern.kind, pattern.nbytes, conditions, pattern.root).seconds)


def _line(sweep: Sweep, index: int, seen: Sequence[_Seen]) -> Line:
    pattern, spaced = sweep.patterns[index], sweep.emulate is not None
    return Line(
        pattern,
        seen[0].algorithm,
        combine(pattern, [rank.out_of_place for rank in seen], spaced=spaced),
        combine(pattern, [rank.in_place for rank in seen], spaced=spaced),
        seen[0].bound_s,
        {peer: combine(pattern, [rank.peers[peer] for rank in seen], spaced=spaced) for peer in sweep.peers},
    )


def _check(sweep: Sweep, ranks_here: int | None) -> None:
    """Refuse what the ranks would refuse, before they are started."""
    if not sweep.patterns or sweep.repeats < 1:
        raise ArgumentError("nothing to measure: expected at least one size and one repetition")
    pattern = sweep.patterns[0]
    check_room(max(sweep.patterns, key=lambda each: each.nbytes), ranks_here)
    check_peers(sweep.peers, pattern, sweep.emulate)
    if sweep.algorithm is None:
        return
    entry = algorithms.get(sweep.algorithm)
    if entry.kind != pattern.kind or entry.needs or not entry.is_valid(pattern.rank_count):
        what = f"{pattern.kind} on {pattern.rank_count} ranks"
        raise ArgumentError(f"'{sweep.algorithm}' runs {entry.kind} for {entry.sizes}, not {what}")
