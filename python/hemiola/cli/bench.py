# SPDX-License-Identifier: Apache-2.0
"""`hemiola bench`: a collective over a range of sizes, in the columns of nccl-tests."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from hemiola.cli import options, values
from hemiola.cli.bench_lines import BenchLines, mean_busbw
from hemiola.cli.inputs import emulated, rank_count_of
from hemiola.cli.option_groups import NO_CHANGES, NO_SPEEDS, LinkChanges, LinkSpeeds, with_groups
from hemiola.cli.output import answer, console, line_above_bar, printable
from hemiola.communicator.launch_environment import Job
from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError
from hemiola.measure.joined import joined_job
from hemiola.measure.pattern import REDUCING, ROOTED, Pattern, dtype_named
from hemiola.measure.sweep import Line, Sweep, run_sweep
from hemiola.measure.trial import Measured, bus_factor


@with_groups
def bench(
    kind: options.OptionalKind = "all_reduce",
    begin: Annotated[
        int,
        typer.Option(
            "--begin",
            "-b",
            metavar="SIZE",
            parser=options.reads(values.read_nccl_size),
            help="Smallest size; 1K is 1,024 here, as in nccl-tests.",
        ),
    ] = 1024,
    end: Annotated[
        int,
        typer.Option(
            "--end",
            "-e",
            metavar="SIZE",
            parser=options.reads(values.read_nccl_size),
            help="Largest size; 128M is 128 MiB here, as in nccl-tests.",
        ),
    ] = 64 << 20,
    factor: Annotated[
        float,
        typer.Option("--factor", "-f", metavar="FACTOR", help="From one size to the next, above 1."),
    ] = 4.0,
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
    dtype: options.DType = "float32",
    op: options.Op = "sum",
    root: options.Root = 0,
    warmups: options.Warmups = 5,
    repeats: options.Repeats = 20,
    as_json: options.Json = False,
) -> None:
    """Time a collective over a range of sizes, out of place and in place, in the columns of nccl-tests.

    A size is the whole buffer, as in nccl-tests. Its flags -b, -e, -f, -d, -o, -r and -w have the same meaning; -n is
    the number of ranks, as in mpirun. algbw is size over median time; busbw is a port's rate. Every element of every
    rank is checked; exit code 1 if one is wrong.

    Under torchrun, mpirun, srun and 'hemiola launch' the ranks there are take part; rank 0 prints.

    Example: hemiola bench all_reduce -b 4K -e 64M -f 4 -n 4
    """
    cluster = emulated(emulate, speeds, changes)
    job = joined_job(ranks)
    count = rank_count_of(ranks if job is None else job.rank_count, cluster)
    conditions = values.read_conditions(late, slow, count, topology=cluster)
    patterns, remarks = _patterns(kind, count, values.size_steps(begin, end, factor), dtype, op, root)
    sweep = Sweep(
        patterns=patterns,
        algorithm=None if algorithm is None else values.read_algorithm(algorithm, kind),
        emulate=cluster,
        conditions=conditions,
        warmups=warmups,
        repeats=repeats,
    )
    lines = _measured(sweep, remarks, emulate, as_json, job)
    if any(line.out_of_place.wrong or line.in_place.wrong for line in lines):
        raise typer.Exit(1)


def _measured(
    sweep: Sweep, remarks: list[str], emulate: Path | None, as_json: bool, job: Job | None
) -> list[Line]:
    """Measure, and print each line as it comes; what there is on Ctrl-C, too. In a job, rank 0 does."""
    there = "this machine" if job is None else f"ranks of {job.launcher}"
    where = f"emulated {printable(emulate.name)}" if emulate else there
    written, shell = BenchLines(sweep.patterns, where, console().width, remarks), sys.stdout
    lines: list[Line] = []

    def show(line: Line) -> None:
        if not lines and not as_json:
            line_above_bar(written.header(), shell)
        lines.append(line)
        if not as_json:
            line_above_bar(written.line(line), shell)

    try:
        run_sweep(sweep, show, job=job)
    finally:
        if lines and as_json:
            answer(True, {**_data(lines, emulate, sweep.conditions), "remarks": remarks})
        elif lines:
            print(written.footer(lines, len(sweep.patterns)), file=shell)
    return lines


def _patterns(
    kind: str, rank_count: int, sizes: list[int], dtype: str, op: str, root: int
) -> tuple[tuple[Pattern, ...], list[str]]:
    """Return a pattern per size that holds anything, each once, and what of them is not as it was asked for."""
    element = dtype_named(dtype)
    made = [Pattern.of_bytes(kind, rank_count, size, element, op=op, root=root) for size in sizes]
    smallest = made[0].smallest
    patterns = tuple({pattern.count: pattern for pattern in made if pattern.count}.values())
    if not patterns:
        raise ArgumentError(f"{max(sizes):,} B hold not even {smallest}; take more, or another --dtype")
    if [pattern.nbytes for pattern in patterns] == sizes:
        return patterns, []
    return patterns, [f"sizes are multiples of {smallest}"]


def _data(lines: list[Line], emulate: Path | None, conditions: Conditions) -> dict[str, Any]:
    pattern = lines[0].pattern
    return {
        "collective": pattern.kind,
        "rank_count": pattern.rank_count,
        "dtype": pattern.dtype.name,
        "op": pattern.op if pattern.kind in REDUCING else None,
        "root": pattern.root if pattern.kind in ROOTED else None,
        "emulated": None if emulate is None else printable(str(emulate)),
        "late": {str(rank): time for rank, time in conditions.late.items()},
        "slow": values.slow_as_data(conditions),
        "mean_busbw": mean_busbw(lines),
        "sizes": [
            {
                "nbytes": line.pattern.nbytes,
                "count": line.pattern.count,
                "algorithm": line.algorithm,
                "out_of_place": _measured_data(line.pattern, line.out_of_place),
                "in_place": _measured_data(line.pattern, line.in_place),
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
