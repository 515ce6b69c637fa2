# SPDX-License-Identifier: Apache-2.0
"""`hemiola run`: one collective on real buffers, by one, several or all algorithms at one or several sizes, beside its
prediction."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import RenderableType
from rich.text import Text

from hemiola.arguments.names import Kind, Op
from hemiola.cli import options
from hemiola.cli.inputs import emulated, load_array, load_schedule, rank_count_of
from hemiola.cli.measured import patterns_of, title_of, where_measured
from hemiola.cli.option_groups import (
    DEFAULT_SIZES,
    NO_CHANGES,
    NO_SPEEDS,
    LinkChanges,
    LinkSpeeds,
    SizeList,
    with_groups,
)
from hemiola.cli.output import answer, counted, fitted, line_above_bar, printable, table, written
from hemiola.cli.question import conditions_asked, network_asked
from hemiola.cli.values import read_algorithm, read_conditions, read_output
from hemiola.communicator.arrivals import Arrivals
from hemiola.communicator.launch_environment import Job
from hemiola.errors import ArgumentError
from hemiola.measure.contest import AtSize, Comparison, Contest, compare
from hemiola.measure.given_data import GivenData
from hemiola.measure.joined import joined_job
from hemiola.measure.pattern import Pattern
from hemiola.measure.trial import Measured, bus_factor
from hemiola.units import format_bytes, format_seconds
from hemiola.view.algorithm_time import AlgorithmTime, TimesAtSize
from hemiola.view.picture_file import check_suffix


@with_groups
def run(
    kind: options.KindArgument,
    nbytes: options.OptionalSize = None,
    sizes: SizeList = DEFAULT_SIZES,
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
    peer: options.Peers = None,
    dtype: options.DType = "float32",
    op: options.OpOption = "sum",
    root: options.Root = 0,
    in_place: Annotated[bool, typer.Option("--in-place", help="Let results overwrite inputs.")] = False,
    warmups: options.Warmups = 2,
    repeats: options.Repeats = 20,
    chart: options.Chart = None,
    bandwidth: options.Bandwidth = False,
    arrivals: Annotated[
        Path | None,
        typer.Option(
            "--arrivals",
            metavar="FILE",
            parser=options.reads(check_suffix),
            help="Draw how late the last rank was, as a distribution, into this .png, .svg or .pdf.",
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            parser=options.reads(read_output),
            help="Write a page to explore: one repetition of the fastest, message by message, beside its prediction.",
        ),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace",
            metavar="FILE",
            parser=options.reads(read_output),
            help="Write the same as one trace for Perfetto or chrome://tracing.",
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Run a collective on local processes, check every element on every rank, and time it.

    With --emulate, every rank's ports are paced to the latency and bandwidth of a cluster; real bytes move. Exit code
    1 if an element is wrong. Of several sizes, --chart draws a curve per algorithm.

    With --html or --trace ranks note when each message began and ended, which takes time (docs/how-to/explore.md).

    Under torchrun, mpirun, srun and 'hemiola launch' the ranks there are take part; rank 0 prints.

    Example: hemiola run all_reduce 16MiB --emulate cluster.yaml --late 7=50ms --algorithm all --chart times.png
    """
    cluster = emulated(emulate, speeds, changes)
    job = joined_job(ranks)
    count = rank_count_of(ranks if job is None else job.rank_count, cluster)
    patterns, remarks = _patterns(kind, nbytes, sizes, count, data, dtype, op, root)
    contest = Contest(
        patterns=patterns,
        algorithms=tuple(read_algorithm(name, kind) for name in algorithm.split(",")) if algorithm else (),
        schedules=tuple((Path(name).name, load_schedule(name, count, root)) for name in schedule or ()),
        peers=tuple(peer or ()),
        emulate=cluster,
        conditions=read_conditions(late, slow, count, topology=cluster),
        in_place=in_place,
        warmups=warmups,
        repeats=repeats,
        recorded=_most_recorded(count) if html or trace else 0,
    )
    if html or trace:
        _check_recorded(contest, count)
    question = _question(contest, algorithm, schedule or [], emulate, changes, speeds) | {"remarks": remarks}
    comparison = _compared(contest, question, as_json, job)
    if job is not None and job.rank != 0:
        return
    where = where_measured(emulate, job)
    if chart is not None:
        _draw(comparison, chart, where, bandwidth=bandwidth)
    if arrivals is not None:
        _draw_arrivals(comparison, arrivals, where)
    answer(
        as_json,
        {**question, **_data(comparison)},
        *(_table(comparison, each, where) for each in comparison.sizes),
        *(Text(remark) for remark in remarks),
        _notes(comparison),
        *written(chart, arrivals),
    )
    if html or trace:
        _show_recording(comparison, html, trace, as_json)
    if any(row.measured.wrong for each in comparison.sizes for row in each.rows):
        raise typer.Exit(1)


def _compared(contest: Contest, question: dict[str, Any], as_json: bool, job: Job | None) -> Comparison:
    """Measure, and say each time as it comes; on Ctrl-C those that there are remain, without the bounds."""
    measured: list[tuple[Pattern, str, Measured]] = []

    def show(pattern: Pattern, label: str, times: Measured) -> None:
        measured.append((pattern, label, times))
        line_above_bar(f"{_named(contest, pattern, label)}: {format_seconds(times.p50_s)}", sys.stderr)

    try:
        return compare(contest, show, job=job)
    except KeyboardInterrupt:
        if job is None or job.rank == 0:
            answer(as_json, {**question, **_partial_data(measured)}, _partial_table(contest, measured))
        raise


def _named(contest: Contest, pattern: Pattern, label: str) -> str:
    """Return the label, with the size where there are several."""
    return label if len(contest.patterns) == 1 else f"{format_bytes(pattern.nbytes)}, {label}"


def _partial_data(measured: list[tuple[Pattern, str, Measured]]) -> dict[str, Any]:
    sizes = []
    for pattern, rows in itertools.groupby(measured, key=lambda one: one[0]):
        times = [_times_data(pattern, label, None, None, each) for _, label, each in rows]
        sizes.append(_size_data(pattern, None, None, None, times))
    return {"interrupted": True, "sizes": sizes, "arrivals": None, "health": None}


def _partial_table(contest: Contest, measured: list[tuple[Pattern, str, Measured]]) -> RenderableType:
    shown = table(
        "algorithm", "p50", "p99", "#wrong", title="what was measured until then", left=("algorithm",)
    )
    for pattern, label, times in measured:
        p50, p99 = format_seconds(times.p50_s), format_seconds(times.percentile_s(99))
        shown.add_row(_named(contest, pattern, label), p50, p99, str(times.wrong))
    return shown


def _patterns(
    kind: Kind,
    nbytes: int | None,
    sizes: SizeList,
    rank_count: int,
    data: Path | None,
    dtype: str,
    op: Op,
    root: int,
) -> tuple[tuple[Pattern, ...], list[str]]:
    """Return the data, the file's rows or known values, and what of them is not as it was asked for."""
    if data is not None:
        if nbytes is not None or sizes.is_given:
            raise ArgumentError("--data has a size of its own; leave SIZE and --sizes out")
        rows = load_array(data)
        given = GivenData.of(kind, rank_count, rows, op, root)
        return (given,), given.differs_from(rows)
    if nbytes is None and not sizes.is_given:
        raise ArgumentError(
            "how large is the buffer? Say a SIZE such as 64MiB, several as --sizes 4KiB,1MiB, or --data FILE.npy"
        )
    if nbytes is None:
        return patterns_of(kind, rank_count, sizes.in_bytes(), dtype, op, root)
    if sizes.is_given:
        raise ArgumentError("SIZE is one size, and --sizes, --begin and --end are several; keep either")
    return patterns_of(kind, rank_count, [nbytes], dtype, op, root)


def _table(comparison: Comparison, at: AtSize, where: str) -> RenderableType:
    columns = ("algorithm", "steps", "predicted", "p50", "p99", "algbw", "busbw", "/bound", "#wrong")
    shown = table(*columns, title=f"{title_of([at.pattern])}, {where}", left=("algorithm",))
    fastest = min(row.measured.p50_s for row in at.rows)
    for row in at.rows:
        measured = row.measured
        shown.add_row(
            f"{row.label} *" if row.label == at.planned else row.label,
            "-" if row.step_count is None else f"{row.step_count:,}",
            "-" if row.predicted_s is None else format_seconds(row.predicted_s),
            format_seconds(measured.p50_s),
            format_seconds(measured.percentile_s(99)),
            f"{measured.algbw / 1e9:.3g}",
            f"{measured.algbw * bus_factor(at.pattern.kind, at.pattern.rank_count) / 1e9:.3g}",
            f"{measured.p50_s / at.bound.seconds:.2f}" if at.bound.seconds > 0 else "-",
            f"[bold red]{measured.wrong}[/]" if measured.wrong else "0",
            style="bold green" if measured.p50_s == fastest and len(at.rows) > 1 else "",
        )
    dropped = ("steps", "algbw", "p99", "predicted", "busbw", "/bound")
    return fitted(shown, dropped=dropped, prefix=f"{at.pattern.kind}_")


def _notes(comparison: Comparison) -> Text:
    lines = []
    for at in comparison.sizes:
        size = "" if len(comparison.sizes) == 1 else f"{format_bytes(at.pattern.nbytes)}, "
        lines.append(f"{size}lower bound {format_seconds(at.bound.seconds)}: {at.bound.witness}")
    lines += [
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


def _question(
    contest: Contest,
    algorithm: str,
    schedules: Sequence[str],
    emulate: Path | None,
    changes: LinkChanges,
    speeds: LinkSpeeds,
) -> dict[str, Any]:
    pattern = contest.patterns[0]
    return {
        "collective": pattern.kind,
        "rank_count": pattern.rank_count,
        "dtype": pattern.dtype.name,
        "op": pattern.op,
        "root": pattern.root,
        "in_place": contest.in_place,
        "asked": algorithm.split(",") if algorithm else [],
        "schedules": [printable(name) for name in schedules],
        "peers": list(contest.peers),
        **network_asked(contest.emulate, emulate, changes, speeds),
        **conditions_asked(contest.conditions),
    }


def _data(comparison: Comparison) -> dict[str, Any]:
    return {
        "sizes": [
            _size_data(
                at.pattern,
                at.bound.seconds,
                at.bound.witness,
                at.planned,
                [
                    _times_data(at.pattern, row.label, row.step_count, row.predicted_s, row.measured)
                    for row in at.rows
                ],
            )
            for at in comparison.sizes
        ],
        "arrivals": comparison.arrivals.as_dict(),
        "health": comparison.health.as_dict(),
    }


def _size_data(
    pattern: Pattern,
    bound_s: float | None,
    witness: str | None,
    planned: str | None,
    rows: list[dict[str, Any]],
) -> dict[str, Any]:
    return {
        "nbytes": pattern.nbytes,
        "count": pattern.count,
        "bound_s": bound_s,
        "bound_witness": witness,
        "planned": planned,
        "algorithms": rows,
    }


def _times_data(
    pattern: Pattern, label: str, step_count: int | None, predicted_s: float | None, measured: Measured
) -> dict[str, Any]:
    return {
        "algorithm": label,
        "step_count": step_count,
        "predicted_s": predicted_s,
        "p50_s": measured.p50_s,
        "p99_s": measured.percentile_s(99),
        "min_s": float(np.min(measured.durations_s)),
        "algbw": measured.algbw,
        "busbw": measured.algbw * bus_factor(pattern.kind, pattern.rank_count),
        "wrong": measured.wrong,
        "durations_s": measured.durations_s.tolist(),
    }


def _most_recorded(rank_count: int) -> int:
    """Return how many messages of each rank a page can show."""
    from hemiola.view.page.packing import MOST_ROWS

    return MOST_ROWS // rank_count


def _check_recorded(contest: Contest, rank_count: int) -> None:
    """Raise ArgumentError where no message would be recorded."""
    ours = len(contest.algorithms) + len(contest.schedules)
    if rank_count == 1 or ours == 0:
        raise ArgumentError(
            "--html and --trace show messages of ours: expected 2 ranks or more and an algorithm or schedule, found "
            f"{counted(rank_count, 'rank')} and {ours} of the latter"
        )


def _show_recording(comparison: Comparison, html: Path | None, trace: Path | None, as_json: bool) -> None:
    """Write the page and the trace of the last size, after the table: a run of too many messages for a page has been
    printed by then."""
    from hemiola.view.page import explore

    fastest = next(row for row in comparison.sizes[-1].rows if row.recording is not None)
    assert fastest.recording is not None
    timeline, ranks = fastest.recording.timeline, fastest.recording.ranks
    if trace is not None:
        timeline.save_trace(trace, ranks)
    if html is not None:
        explore(timeline, html, measured=ranks, title=fastest.label)
    if not as_json:
        answer(False, None, *written(html, trace))


def _draw_arrivals(comparison: Comparison, path: Path, where: str) -> None:
    from hemiola.view.arrivals import draw_arrivals

    operations = counted(comparison.arrivals.operation_count, "operation")
    draw_arrivals(
        comparison.arrivals,
        path,
        title="How long the last rank kept the others waiting",
        subtitle=f"{title_of(comparison.contest.patterns)}, {where}; the latest {operations}, barriers among them",
    )


def _draw(comparison: Comparison, path: Path, where: str, *, bandwidth: bool) -> None:
    from hemiola.view.over_sizes import draw_over_sizes

    sizes = [
        TimesAtSize(
            at.pattern.nbytes,
            tuple(
                AlgorithmTime.measured(row.label, row.measured.durations_s, row.predicted_s)
                for row in at.rows
            ),
            at.bound.seconds,
        )
        for at in comparison.sizes
    ]
    draw_over_sizes(
        sizes,
        path,
        title=f"{title_of(comparison.contest.patterns)}, {where}",
        conditions=comparison.contest.conditions,
        prefix=f"{comparison.contest.patterns[0].kind}_",
        bandwidth=bandwidth,
    )
