# SPDX-License-Identifier: Apache-2.0
"""`hemiola run`: one collective on real buffers, by one, several or all algorithms, beside its prediction."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import RenderableType
from rich.text import Text

from hemiola.cli import options
from hemiola.cli.inputs import emulated, load_array, load_schedule, rank_count_of
from hemiola.cli.option_groups import NO_CHANGES, NO_SPEEDS, LinkChanges, LinkSpeeds, with_groups
from hemiola.cli.output import answer, counted, fitted, line_above_bar, printable, table, written
from hemiola.cli.values import read_algorithm, read_conditions, slow_as_data
from hemiola.communicator.arrivals import Arrivals
from hemiola.communicator.launch_environment import Job
from hemiola.errors import ArgumentError
from hemiola.measure.contest import Comparison, Contest, Row, compare
from hemiola.measure.given_data import GivenData
from hemiola.measure.joined import joined_job
from hemiola.measure.pattern import Pattern, dtype_named
from hemiola.measure.trial import Measured, bus_factor
from hemiola.units import format_bytes, format_seconds
from hemiola.view.picture_file import check_suffix


@with_groups
def run(
    kind: options.KindArgument,
    nbytes: options.OptionalSize = None,
    ranks: options.Ranks = None,
    emulate: options.Emulate = None,
    late: options.Late = None,
    slow: options.Slow = None,
    changes: LinkChanges = NO_CHANGES,
    speeds: LinkSpeeds = NO_SPEEDS,
    algorithm: Annotated[
        str,
        typer.Option(
            "--algorithm",
            "-a",
            metavar="NAMES",
            help="auto (the planner's choice), all, or names.",
        ),
    ] = "auto",
    schedule: Annotated[
        list[str] | None,
        typer.Option("--schedule", metavar="FILE", help="A schedule of your own. May be repeated."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="FILE.npy", help="Run on this array, or on one of its rows per rank."),
    ] = None,
    dtype: options.DType = "float32",
    op: options.Op = "sum",
    root: options.Root = 0,
    in_place: Annotated[bool, typer.Option("--in-place", help="Let results overwrite inputs.")] = False,
    warmups: options.Warmups = 2,
    repeats: options.Repeats = 20,
    chart: options.Chart = None,
    arrivals: Annotated[
        Path | None,
        typer.Option(
            "--arrivals",
            metavar="FILE",
            parser=options.reads(check_suffix),
            help="Draw how late the last rank was, as a distribution, into this .png, .svg or .pdf.",
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Run a collective on local processes, check every element on every rank, and time it.

    With --emulate, every rank's ports are paced to the latency and bandwidth of a cluster; real bytes move. Exit code
    1 if an element is wrong.

    Under torchrun, mpirun, srun and 'hemiola launch' the ranks there are take part; rank 0 prints.

    Example: hemiola run all_reduce 16MiB --emulate cluster.yaml --late 7=50ms --algorithm all --chart times.png
    """
    cluster = emulated(emulate, speeds, changes)
    job = joined_job(ranks)
    count = rank_count_of(ranks if job is None else job.rank_count, cluster)
    pattern, remarks = _pattern(kind, nbytes, count, data, dtype, op, root)
    contest = Contest(
        pattern=pattern,
        algorithms=tuple(read_algorithm(name, kind) for name in algorithm.split(",")) if algorithm else (),
        schedules=tuple((Path(name).name, load_schedule(name, count, root)) for name in schedule or ()),
        emulate=cluster,
        conditions=read_conditions(late, slow, count, topology=cluster),
        in_place=in_place,
        warmups=warmups,
        repeats=repeats,
    )
    comparison = _compared(contest, as_json, job)
    if job is not None and job.rank != 0:
        return
    where = _where(emulate, job)
    if chart is not None:
        _draw(comparison, chart, where)
    if arrivals is not None:
        _draw_arrivals(comparison, arrivals, where)
    answer(
        as_json,
        {**_data(comparison, emulate), "remarks": remarks},
        _table(comparison, where),
        *(Text(remark) for remark in remarks),
        _notes(comparison),
        *written(chart, arrivals),
    )
    if any(row.measured.wrong for row in comparison.rows):
        raise typer.Exit(1)


def _compared(contest: Contest, as_json: bool, job: Job | None) -> Comparison:
    """Measure, and say each time as it comes; on Ctrl-C those that there are remain, without the bounds."""
    measured: list[tuple[str, Measured]] = []

    def show(label: str, times: Measured) -> None:
        measured.append((label, times))
        line_above_bar(f"{label}: {format_seconds(times.p50_s)}", sys.stderr)

    try:
        return compare(contest, show, job=job)
    except KeyboardInterrupt:
        if job is None or job.rank == 0:
            answer(
                as_json,
                {"interrupted": True, "algorithms": _partial_data(measured)},
                _partial_table(measured),
            )
        raise


def _partial_data(measured: list[tuple[str, Measured]]) -> list[dict[str, Any]]:
    return [
        {"algorithm": label, "p50_s": times.p50_s, "p99_s": times.percentile_s(99), "wrong": times.wrong}
        for label, times in measured
    ]


def _partial_table(measured: list[tuple[str, Measured]]) -> RenderableType:
    shown = table(
        "algorithm", "p50", "p99", "#wrong", title="what was measured until then", left=("algorithm",)
    )
    for label, times in measured:
        shown.add_row(
            label, format_seconds(times.p50_s), format_seconds(times.percentile_s(99)), str(times.wrong)
        )
    return shown


def _pattern(
    kind: str, nbytes: int | None, rank_count: int, data: Path | None, dtype: str, op: str, root: int
) -> tuple[Pattern, list[str]]:
    """Return the data, the file's rows or known values, and what of them is not as it was asked for."""
    if data is not None:
        if nbytes is not None:
            raise ArgumentError("--data has a size of its own; leave SIZE out")
        rows = load_array(data)
        given = GivenData.of(kind, rank_count, rows, op, root)
        return given, given.differs_from(rows)
    if nbytes is None:
        raise ArgumentError("how large is the buffer? Say a SIZE such as 64MiB, or --data FILE.npy")
    pattern = Pattern.of_bytes(kind, rank_count, nbytes, dtype_named(dtype), op=op, root=root)
    if pattern.nbytes == nbytes:
        return pattern, []
    if pattern.count == 0:
        raise ArgumentError(f"{nbytes:,} B hold not even {pattern.smallest}; take more, or another --dtype")
    return pattern, [f"{pattern.nbytes:,} B of the {nbytes:,} asked for: a multiple of {pattern.smallest}"]


def _title(comparison: Comparison) -> str:
    pattern = comparison.contest.pattern
    size = format_bytes(pattern.nbytes)
    return f"{pattern.kind} of {size} {pattern.dtype.name} over {counted(pattern.rank_count, 'rank')}"


def _where(emulate: Path | None, job: Job | None) -> str:
    there = "this machine" if job is None else f"ranks of {job.launcher}"
    return f"emulated {printable(emulate.name)}" if emulate else there


def _table(comparison: Comparison, where: str) -> RenderableType:
    columns = ("algorithm", "steps", "predicted", "p50", "p99", "algbw", "busbw", "/bound", "#wrong")
    shown = table(*columns, title=f"{_title(comparison)}, {where}", left=("algorithm",))
    fastest = min(row.measured.p50_s for row in comparison.rows)
    for row in comparison.rows:
        measured = row.measured
        shown.add_row(
            f"{row.label} *" if row.label == comparison.planned else row.label,
            f"{row.step_count:,}",
            format_seconds(row.predicted_s),
            format_seconds(measured.p50_s),
            format_seconds(measured.percentile_s(99)),
            f"{measured.algbw / 1e9:.3g}",
            f"{measured.algbw * _bus_factor(comparison) / 1e9:.3g}",
            f"{measured.p50_s / comparison.bound.seconds:.2f}" if comparison.bound.seconds > 0 else "-",
            f"[bold red]{measured.wrong}[/]" if measured.wrong else "0",
            style="bold green" if measured.p50_s == fastest and len(comparison.rows) > 1 else "",
        )
    dropped = ("steps", "algbw", "p99", "predicted", "busbw", "/bound")
    return fitted(shown, dropped=dropped, prefix=f"{comparison.contest.pattern.kind}_")


def _notes(comparison: Comparison) -> Text:
    bound = comparison.bound
    lines = [
        f"lower bound {format_seconds(bound.seconds)}: {bound.witness}",
        f"* the planner's choice; bandwidths in GB/s; {comparison.contest.repeats} repetitions each",
    ]
    told = comparison.contest.conditions.in_words()
    lines += _who_is_late(comparison.arrivals)
    lines += [str(comparison.health)] if comparison.health.slow else []
    return Text("\n".join([*([", ".join(told)] if told else []), *lines]), style="dim")


def _who_is_late(arrivals: Arrivals) -> list[str]:
    """Name the rank that held the others up, if one did so again and again."""
    if arrivals.persistent_rank is None:
        return []
    late = arrivals.ranks[arrivals.persistent_rank]
    return [
        f"rank {late.rank} came last to {late.last_share:.0%} of {arrivals.operation_count} operations, by "
        f"{format_seconds(late.p50_s)} (p95 {format_seconds(late.p95_s)}, p99 {format_seconds(late.p99_s)})"
    ]


def _bus_factor(comparison: Comparison) -> float:
    return bus_factor(comparison.contest.pattern.kind, comparison.contest.pattern.rank_count)


def _data(comparison: Comparison, emulate: Path | None) -> dict[str, Any]:
    contest, pattern = comparison.contest, comparison.contest.pattern
    return {
        "collective": pattern.kind,
        "nbytes": pattern.nbytes,
        "count": pattern.count,
        "rank_count": pattern.rank_count,
        "dtype": pattern.dtype.name,
        "op": pattern.op,
        "root": pattern.root,
        "in_place": contest.in_place,
        "emulated": None if emulate is None else printable(str(emulate)),
        "late": {str(rank): time for rank, time in contest.conditions.late.items()},
        "slow": slow_as_data(contest.conditions),
        "bound_s": comparison.bound.seconds,
        "bound_witness": comparison.bound.witness,
        "planned": comparison.planned,
        "arrivals": comparison.arrivals.as_dict(),
        "health": comparison.health.as_dict(),
        "algorithms": [_row_data(comparison, row) for row in comparison.rows],
    }


def _row_data(comparison: Comparison, row: Row) -> dict[str, Any]:
    measured = row.measured
    return {
        "algorithm": row.label,
        "step_count": row.step_count,
        "predicted_s": row.predicted_s,
        "p50_s": measured.p50_s,
        "p99_s": measured.percentile_s(99),
        "min_s": float(np.min(measured.durations_s)),
        "algbw": measured.algbw,
        "busbw": measured.algbw * _bus_factor(comparison),
        "wrong": measured.wrong,
        "durations_s": measured.durations_s.tolist(),
    }


def _draw_arrivals(comparison: Comparison, path: Path, where: str) -> None:
    from hemiola.view.arrivals import draw_arrivals

    operations = counted(comparison.arrivals.operation_count, "operation")
    draw_arrivals(
        comparison.arrivals,
        path,
        title="How long the last rank kept the others waiting",
        subtitle=f"{_title(comparison)}, {where}; the latest {operations}, barriers among them",
    )


def _draw(comparison: Comparison, path: Path, where: str) -> None:
    from hemiola.view.algorithm_time import AlgorithmTime
    from hemiola.view.times import draw_times

    draw_times(
        [
            AlgorithmTime.measured(row.label, row.measured.durations_s, row.predicted_s)
            for row in comparison.rows
        ],
        path,
        title=f"{_title(comparison)}, {where}",
        conditions=comparison.contest.conditions,
        bound_s=comparison.bound.seconds,
    )
