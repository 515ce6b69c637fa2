# SPDX-License-Identifier: Apache-2.0
"""`hemiola bench`: a collective over a range of sizes, in the columns of nccl-tests."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from hemiola.cli import options, values
from hemiola.cli.bench_lines import BenchLines, mean_busbw, spans
from hemiola.cli.inputs import emulated, rank_count_of
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
from hemiola.cli.output import answer, console, line_above_bar, written
from hemiola.cli.question import conditions_asked, network_asked
from hemiola.communicator.launch_environment import Job
from hemiola.measure.joined import joined_job
from hemiola.measure.pattern import REDUCING, ROOTED, Pattern
from hemiola.measure.sweep import Line, Sweep, run_sweep
from hemiola.measure.trial import Measured, bus_factor
from hemiola.view.algorithm_time import AlgorithmTime, TimesAtSize


@with_groups
def bench(
    kind: options.OptionalKind = "all_reduce",
    sizes: SizeList = DEFAULT_SIZES,
    ranks: options.Ranks = None,
    emulate: options.Emulate = None,
    late: options.Late = None,
    slow: options.Slow = None,
    changes: LinkChanges = NO_CHANGES,
    speeds: LinkSpeeds = NO_SPEEDS,
    algorithm: Annotated[
        str | None,
        typer.Option(
            "--algorithm", "-a", metavar="NAME", help="Run this one; otherwise the planner chooses."
        ),
    ] = None,
    peer: options.Peers = None,
    dtype: options.DType = "float32",
    op: options.OpOption = "sum",
    root: options.Root = 0,
    warmups: options.Warmups = 5,
    repeats: options.Repeats = 20,
    chart: options.Chart = None,
    bandwidth: options.Bandwidth = False,
    as_json: options.Json = False,
) -> None:
    """Time a collective over a range of sizes, out of place and in place, in the columns of nccl-tests.

    A size is the whole buffer, as in nccl-tests. Its flags -b, -e, -f, -d, -o, -r and -w have the same meaning; -n is
    the number of ranks, as in mpirun. algbw is size over median time; busbw is a port's rate. Every element of every
    rank is checked; exit code 1 if one is wrong.

    --chart draws both over the sizes, with peers and the lower bound.

    Under torchrun, mpirun, srun and 'hemiola launch' the ranks there are take part; rank 0 prints.

    Example: hemiola bench all_reduce -b 4K -e 64M -f 4 -n 4
    """
    cluster = emulated(emulate, speeds, changes)
    job = joined_job(ranks)
    count = rank_count_of(ranks if job is None else job.rank_count, cluster)
    conditions = values.read_conditions(late, slow, count, topology=cluster)
    patterns, remarks = patterns_of(kind, count, sizes.in_bytes(), dtype, op, root)
    sweep = Sweep(
        patterns=patterns,
        algorithm=None if algorithm is None else values.read_algorithm(algorithm, kind),
        peers=tuple(peer or ()),
        emulate=cluster,
        conditions=conditions,
        warmups=warmups,
        repeats=repeats,
    )
    question = {
        **network_asked(cluster, emulate, changes, speeds),
        **conditions_asked(conditions),
        "asked": sweep.algorithm,
        "peers": list(sweep.peers),
        "remarks": remarks,
    }
    where = where_measured(emulate, job)
    lines = _measured(sweep, remarks, where, question, as_json, job)
    if chart is not None and lines:
        _draw(lines, sweep, chart, where, bandwidth=bandwidth)
        if not as_json:
            console().print(*written(chart))
    if any(line.out_of_place.wrong or line.in_place.wrong for line in lines):
        raise typer.Exit(1)


def _measured(
    sweep: Sweep, remarks: list[str], where: str, question: dict[str, Any], as_json: bool, job: Job | None
) -> list[Line]:
    """Measure, and print each line as it comes; what there is on Ctrl-C, too. In a job, rank 0 does."""
    text, shell = BenchLines(sweep.patterns, where, console().width, remarks), sys.stdout
    lines: list[Line] = []

    def show(line: Line) -> None:
        if not lines and not as_json:
            line_above_bar(text.header(), shell)
        lines.append(line)
        if not as_json:
            line_above_bar(text.line(line), shell)

    try:
        run_sweep(sweep, show, job=job)
    finally:
        if lines and as_json:
            answer(True, {**question, **_data(lines)})
        elif lines:
            print(text.footer(lines, len(sweep.patterns)), file=shell)
    return lines


def _data(lines: list[Line]) -> dict[str, Any]:
    pattern = lines[0].pattern
    return {
        "collective": pattern.kind,
        "rank_count": pattern.rank_count,
        "dtype": pattern.dtype.name,
        "op": pattern.op if pattern.kind in REDUCING else None,
        "root": pattern.root if pattern.kind in ROOTED else None,
        "mean_busbw": mean_busbw(lines),
        "sizes": [
            {
                "nbytes": line.pattern.nbytes,
                "count": line.pattern.count,
                "algorithm": line.algorithm,
                "bound_s": line.bound_s,
                "out_of_place": _measured_data(line.pattern, line.out_of_place),
                "in_place": _measured_data(line.pattern, line.in_place),
                "peers": {name: _measured_data(line.pattern, times) for name, times in line.peers.items()},
            }
            for line in lines
        ],
    }


def _measured_data(pattern: Pattern, measured: Measured) -> dict[str, Any]:
    return {
        "p50_s": measured.p50_s,
        "p99_s": measured.percentile_s(99),
        "algbw": measured.algbw,
        "busbw": measured.algbw * bus_factor(pattern.kind, pattern.rank_count),
        "wrong": measured.wrong,
    }


def _draw(lines: list[Line], sweep: Sweep, path: Path, where: str, *, bandwidth: bool) -> None:
    from hemiola.view.over_sizes import draw_over_sizes

    sizes = []
    for line in lines:
        series = {"out of place": line.out_of_place, "in place": line.in_place, **line.peers}
        times = (AlgorithmTime.measured(name, one.durations_s) for name, one in series.items())
        sizes.append(TimesAtSize(line.pattern.nbytes, tuple(times), line.bound_s))
    draw_over_sizes(
        sizes,
        path,
        title=f"{title_of([line.pattern for line in lines])}, {where}",
        conditions=sweep.conditions,
        subtitle="; ".join(spans(lines)),
        bandwidth=bandwidth,
    )
