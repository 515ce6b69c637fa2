# SPDX-License-Identifier: Apache-2.0
"""`hemiola sweep`: predicted times for several topologies, sizes and algorithms in one table."""

from __future__ import annotations

import multiprocessing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from hemiola._core import Topology
from hemiola.arguments.names import Kind
from hemiola.cli import options, values
from hemiola.cli.inputs import read_topology
from hemiola.cli.option_groups import (
    DEFAULT_SIZES,
    NO_CHANGES,
    NO_SPEEDS,
    LinkChanges,
    LinkSpeeds,
    SizeList,
    with_groups,
)
from hemiola.cli.output import answer, fitted, printable, table, written
from hemiola.cli.question import conditions_asked, network_asked
from hemiola.errors import ArgumentError
from hemiola.sweep import Row, Sweep
from hemiola.sweep import sweep as run_sweep
from hemiola.units import format_bytes, format_seconds

_SUFFIXES = (".csv", ".json", ".tex")


def _read_table(text: str) -> Path:
    path = values.read_output(text)
    if path.suffix.lower() not in _SUFFIXES:
        raise ArgumentError(
            f"expected a file that ends with {', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]}, found "
            f"'{printable(path.name)}'"
        )
    return path


@with_groups
def sweep(
    kind: options.KindArgument,
    topology_files: Annotated[
        list[Path],
        typer.Argument(metavar="TOPOLOGY…", help="Topology files, as 'hemiola plan' reads them."),
    ],
    sizes: SizeList = DEFAULT_SIZES,
    algorithm: Annotated[
        list[str] | None,
        typer.Option(
            "--algorithm",
            "-a",
            metavar="NAME",
            help="An algorithm, or 'plan' for the planner's choice, the default. Repeat for several.",
        ),
    ] = None,
    late: options.Late = None,
    slow: options.Slow = None,
    density: options.Density = 1.0,
    changes: LinkChanges = NO_CHANGES,
    speeds: LinkSpeeds = NO_SPEEDS,
    root: options.Root = 0,
    network: options.NetworkOption = options.Network.fluid,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            parser=options.reads(_read_table),
            help="Write the table to this file: .csv, .json or .tex.",
        ),
    ] = None,
    chart: options.Chart = None,
    bandwidth: options.Bandwidth = False,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume",
            metavar="FILE",
            parser=options.reads(values.read_output),
            help="Keep what is done in this file, and go on from it after an interrupt.",
        ),
    ] = None,
    processes: Annotated[
        int,
        typer.Option("--processes", "-p", metavar="COUNT", min=1, help="How many processes share the work."),
    ] = 1,
    as_json: options.Json = False,
) -> None:
    """Predict a collective's time for several topologies, sizes and algorithms, beside the lower bound.

    Example: hemiola sweep all_reduce a.yaml b.yaml -b 1KiB -e 64MiB -a plan -a ring --out times.csv
    """
    topologies = _read(topology_files, speeds, changes)
    first = next(iter(topologies.values()))
    conditions = values.read_conditions(late, slow, first.rank_count, density, first)
    names = [_name(one, kind) for one in algorithm or ["plan"]]
    in_bytes = sizes.in_bytes()
    question: dict[str, Any] = {
        "topologies": topologies,
        "collectives": kind,
        "sizes": in_bytes,
        "algorithms": names,
        "conditions": conditions,
        "root": root,
        "network": network.value,
        "resume": resume,
    }
    if chart is not None:
        from hemiola.view.swept import refuse_many

        refuse_many(len(topologies), len(question["sizes"]))
    if processes == 1:
        made = run_sweep(**question)
    else:
        with multiprocessing.get_context("spawn").Pool(processes) as pool:
            made = run_sweep(**question, map=pool.imap)
    if out is not None:
        {".csv": made.to_csv, ".json": made.to_json, ".tex": made.to_latex}[out.suffix.lower()](out)
    if chart is not None:
        from hemiola.view import style
        from hemiola.view.drawing import draw

        style.save(style.figure_of(draw(made, bandwidth=bandwidth)), chart)
    asked = {
        "collective": kind,
        "topologies": [
            {**network_asked(topology, file, changes, speeds), "topology": name}
            for file, (name, topology) in zip(topology_files, topologies.items(), strict=True)
        ],
        "sizes": in_bytes,
        "asked": names,
        "root": root,
        **conditions_asked(conditions, network.value),
    }
    answer(as_json, {**asked, "rows": [_row(row) for row in made]}, _table(made), *written(out, chart))


def _name(text: str, kind: Kind) -> str:
    return text if text == "plan" else values.read_algorithm(text, kind)


def _read(files: list[Path], speeds: LinkSpeeds, changes: LinkChanges) -> dict[str, Topology]:
    """Read topologies by their names, or by those of their files where names are equal."""
    read = [(file, read_topology(file, speeds, changes).topology) for file in files]
    names = [topology.name for _, topology in read]
    if all(names) and len(set(names)) == len(names):
        return {topology.name: topology for _, topology in read}
    if len(set(files)) < len(files):
        raise ArgumentError("expected each topology file once, found one twice")
    return {printable(str(file)): topology for file, topology in read}


def _table(made: Sweep) -> RenderableType:
    shown = table(
        "topology", "size", "algorithm", "time", "over bound", "note", left=("topology", "algorithm", "note")
    )
    for row in made:
        shown.add_row(
            row.topology,
            format_bytes(row.nbytes),
            row.algorithm,
            "-" if row.seconds is None else format_seconds(row.seconds),
            _over_bound(row),
            row.chosen or row.note,
        )
    return fitted(shown, dropped=("over bound",), wrapped=("note",))


def _over_bound(row: Row) -> str:
    return f"{row.seconds / row.bound_s:.2f}" if row.seconds is not None and row.bound_s else "-"


def _row(row: Row) -> dict[str, Any]:
    return {name: value for name, value in asdict(row).items() if name not in ("collective", "conditions")}
