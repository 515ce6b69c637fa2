"""`hemiola bench`: a collective over a range of sizes, in the columns of nccl-tests."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from hemiola import Conditions
from hemiola.cli import options, values
from hemiola.cli.inputs import load_topology, rank_count_of
from hemiola.cli.output import answer, counted, table
from hemiola.measurement import Measured, bus_factor
from hemiola.pattern import REDUCING, ROOTED, Pattern, dtype_named
from hemiola.sweep import Line, Sweep, run_sweep
from hemiola.units import format_bytes


def bench(
    kind: options.OptionalKind = "all_reduce",
    begin: Annotated[
        int,
        typer.Option(
            "--begin", "-b", metavar="SIZE", parser=options.reads(values.read_size), help="Smallest size."
        ),
    ] = 1024,
    end: Annotated[
        int,
        typer.Option(
            "--end", "-e", metavar="SIZE", parser=options.reads(values.read_size), help="Largest size."
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

    A size is the whole buffer, as in nccl-tests. algbw is size over median time; busbw is what a port carries. Every
    element of every rank is checked; exit code 1 if one is wrong.

    Example: hemiola bench all_reduce -b 4KiB -e 64MiB -f 4 --ranks 4
    """
    cluster = None if emulate is None else load_topology(emulate)
    count = rank_count_of(ranks, cluster)
    conditions = values.read_conditions(late, slow, count)
    sweep = Sweep(
        patterns=_patterns(kind, count, values.size_steps(begin, end, factor), dtype, op, root),
        algorithm=algorithm,
        emulate=cluster,
        conditions=conditions,
        warmups=warmups,
        repeats=repeats,
    )
    lines = run_sweep(sweep)
    answer(as_json, _data(lines, emulate, conditions), _table(lines, emulate), _notes(lines))
    if any(line.out_of_place.wrong or line.in_place.wrong for line in lines):
        raise typer.Exit(1)


def _patterns(
    kind: str, rank_count: int, sizes: list[int], dtype: str, op: str, root: int
) -> tuple[Pattern, ...]:
    """Return one pattern per size, without those that rounding to whole blocks makes equal."""
    element = dtype_named(dtype)
    made = (Pattern.of_bytes(kind, rank_count, size, element, op=op, root=root) for size in sizes)
    return tuple({pattern.count: pattern for pattern in made}.values())


def _table(lines: list[Line], emulate: Path | None) -> RenderableType:
    pattern = lines[0].pattern
    where = f"emulated {values.printable(emulate.name)}" if emulate else "this machine"
    title = (
        f"{pattern.kind} over {counted(pattern.rank_count, 'rank')}, {where}; times in us, bandwidths in GB/s"
    )
    groups = [
        column
        for first, second in (("out of", "place"), ("in", "place"))
        for column in (f"{first}\np50", f"{second}\np99", "\nalgbw", "\nbusbw", "\n#wrong")
    ]
    shown = table("\nsize", "\ncount", "\ntype", "\nredop", "\nroot", *groups, title=title)
    shown.padding = (0, 0, 0, 0)
    for line in lines:
        shown.add_row(
            str(line.pattern.nbytes),
            str(line.pattern.count),
            line.pattern.dtype.name,
            line.pattern.op if line.pattern.kind in REDUCING else "-",
            str(line.pattern.root) if line.pattern.kind in ROOTED else "-1",
            *_measured_cells(line.pattern, line.out_of_place),
            *_measured_cells(line.pattern, line.in_place),
        )
    return shown


def _measured_cells(pattern: Pattern, measured: Measured) -> list[str]:
    busbw = measured.algbw * bus_factor(pattern.kind, pattern.rank_count)
    return [
        _microseconds(measured.p50_s),
        _microseconds(measured.percentile_s(99)),
        f"{measured.algbw / 1e9:.2f}",
        f"{busbw / 1e9:.2f}",
        f"[bold red]{measured.wrong}[/]" if measured.wrong else "0",
    ]


def _microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:.1f}" if seconds < 1e-2 else f"{seconds * 1e6:.0f}"


def _notes(lines: list[Line]) -> Text:
    wrong = sum(line.out_of_place.wrong + line.in_place.wrong for line in lines)
    verdict = ("every element is right", "green") if not wrong else (f"{wrong} wrong elements", "bold red")
    notes = Text.assemble(verdict, f"; average bus bandwidth {_mean_busbw(lines) / 1e9:.3g} GB/s\n")
    for algorithm, same in itertools.groupby(lines, key=lambda line: line.algorithm):
        sizes = [line.pattern.nbytes for line in same]
        span = format_bytes(sizes[0]) + (f" … {format_bytes(sizes[-1])}" if len(sizes) > 1 else "")
        notes.append(f"{span}: {algorithm}\n", style="dim")
    notes.rstrip()
    return notes


def _mean_busbw(lines: list[Line]) -> float:
    factors = [bus_factor(line.pattern.kind, line.pattern.rank_count) for line in lines]
    both = [
        measured.algbw * factor
        for line, factor in zip(lines, factors, strict=True)
        for measured in (line.out_of_place, line.in_place)
    ]
    return sum(both) / len(both)


def _data(lines: list[Line], emulate: Path | None, conditions: Conditions) -> dict[str, Any]:
    pattern = lines[0].pattern
    return {
        "collective": pattern.kind,
        "rank_count": pattern.rank_count,
        "dtype": pattern.dtype.name,
        "op": pattern.op if pattern.kind in REDUCING else None,
        "root": pattern.root if pattern.kind in ROOTED else None,
        "emulated": None if emulate is None else values.printable(str(emulate)),
        "late": {str(rank): time for rank, time in conditions.late.items()},
        "slow": {str(rank): factor for rank, factor in conditions.slow.items()},
        "mean_busbw": _mean_busbw(lines),
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
