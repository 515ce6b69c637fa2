# SPDX-License-Identifier: Apache-2.0
"""`hemiola synthesize`: make a schedule for exactly one network."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from hemiola._core import Topology
from hemiola.bounds import LowerBound, lower_bound
from hemiola.cli import options
from hemiola.cli.inputs import read_topology
from hemiola.cli.option_groups import NO_CHANGES, NO_SPEEDS, LinkChanges, LinkSpeeds, with_groups
from hemiola.cli.output import answer, printable, table
from hemiola.cli.question import conditions_asked, network_asked
from hemiola.cli.values import read_count, read_output, read_seconds, read_size
from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError
from hemiola.simulate import simulate as run_simulation
from hemiola.synthesis import DEFAULT_NBYTES, Synthesis, search
from hemiola.synthesis.topology_algorithms import generate, patterns
from hemiola.units import format_bytes, format_seconds

_MATCHING = "matching"


def _read_algorithm(text: str) -> str:
    """Read what makes the schedule."""
    if text not in (_MATCHING, *patterns()):
        known = ", ".join((_MATCHING, *patterns()))
        raise ArgumentError(f"unknown algorithm '{printable(text[:60])}'; expected one of: {known}")
    return text


class LatencyModel(StrEnum):
    """How a link's latency counts while searching."""

    pipelined = "pipelined"
    occupies = "occupies"


@with_groups
def synthesize(
    kind: options.KindArgument,
    topology_file: options.TopologyFile,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            parser=options.reads(read_output),
            help="Write the schedule: the binary form for .schedb, else text.",
        ),
    ] = None,
    size: Annotated[
        int,
        typer.Option(
            "--size",
            metavar="SIZE",
            parser=options.reads(read_size),
            help="Weigh latency against bandwidth for this buffer: 64MiB. The schedule is right for any.",
        ),
    ] = DEFAULT_NBYTES,
    algorithm: Annotated[
        str,
        typer.Option(
            "--algorithm",
            "-a",
            metavar="NAME",
            parser=options.reads(_read_algorithm),
            help=f"How: {_MATCHING} chunks to links, or, to compare with, one of {', '.join(patterns())}.",
        ),
    ] = _MATCHING,
    chunks: Annotated[
        int | None,
        typer.Option(
            "--chunks",
            metavar="COUNT",
            parser=options.reads(read_count),
            help="Chunks per rank, by default 1: more of them spread better and cost more latency. Other algorithms "
            "than matching take their own number: parts of the buffer, or pieces a tree.",
        ),
    ] = None,
    changes: LinkChanges = NO_CHANGES,
    speeds: LinkSpeeds = NO_SPEEDS,
    seed: Annotated[
        int, typer.Option("--seed", metavar="SEED", parser=options.reads(read_count), help="First seed.")
    ] = 0,
    trials: Annotated[
        int | None,
        typer.Option(
            "--trials",
            metavar="COUNT",
            parser=options.reads(read_count),
            help="Searches with different seeds, of which the best counts.",
        ),
    ] = None,
    latency: Annotated[
        LatencyModel,
        typer.Option(
            "--latency", help="pipelined behind the serialization, or occupying the link as in TACOS."
        ),
    ] = LatencyModel.pipelined,
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit",
            metavar="TIME",
            parser=options.reads(read_seconds),
            help="Return the best so far after this time: 10s.",
        ),
    ] = None,
    root: options.Root = 0,
    as_json: options.Json = False,
) -> None:
    """Make a schedule for exactly this network, by matching chunks to links or another way.

    Ctrl-C keeps the best so far. Example: hemiola synthesize all_gather cluster.yaml --chunks 4 --out x.sched
    """
    topology = read_topology(topology_file, speeds, changes).topology
    found = None
    if algorithm == _MATCHING:
        found = search(
            topology,
            kind,
            1 if chunks is None else chunks,
            seed,
            root=root,
            nbytes=size,
            latency=latency.value,
            trials=trials,
            time_limit_s=time_limit,
        )
        schedule = found.schedule
    elif trials is not None or time_limit is not None or seed != 0 or latency is not LatencyModel.pipelined:
        raise ArgumentError(f"--seed, --trials, --latency and --time-limit are for --algorithm {_MATCHING}")
    else:
        schedule = generate(f"{kind}_{algorithm}", topology, nbytes=size, root=root, chunk_count=chunks)
    if out is not None:
        schedule.save(out)
    bound = lower_bound(topology, kind, size, root=root)
    simulated = run_simulation(schedule, topology, size, network="fifo").seconds
    found = found or Synthesis(schedule, simulated, bound.seconds, trials=1, stopped=False)
    answer(
        as_json,
        {
            **network_asked(topology, topology_file, changes, speeds),
            **conditions_asked(Conditions(), "fifo"),
            "algorithm": algorithm,
            "chunks_per_rank": chunks,
            "seed": seed,
            "latency": latency.value,
            "time_limit_s": time_limit,
            "root": root,
            "file": None if out is None else printable(str(out)),
            **_data(found, bound, simulated, size),
        },
        *_report(found, topology, bound, simulated, size, out),
    )


def _data(found: Synthesis, bound: LowerBound, simulated: float, nbytes: int) -> dict[str, Any]:
    schedule = found.schedule
    return {
        "collective": schedule.collective.kind,
        "ranks": schedule.rank_count,
        "chunks": schedule.chunk_count,
        "steps": schedule.step_count,
        "transfers": schedule.transfer_count,
        "nbytes": nbytes,
        "searched_s": found.seconds,
        "simulated_s": simulated,
        "bound_s": bound.seconds,
        "bound_witness": bound.witness,
        "trials": found.trials,
        "stopped": found.stopped,
    }


def _report(
    found: Synthesis, topology: Topology, bound: LowerBound, simulated: float, nbytes: int, out: Path | None
) -> list[Any]:
    schedule = found.schedule
    shown = table("steps", "transfers", "simulated", "lower bound", "share of bound", "trials")
    shown.add_row(
        f"{schedule.step_count:,}",
        f"{schedule.transfer_count:,}",
        format_seconds(simulated),
        format_seconds(bound.seconds),
        f"{bound.seconds / simulated:.1%}" if simulated > 0 else "",
        str(found.trials),
    )
    where = printable(topology.name) or f"{topology.rank_count} ranks"
    lines: list[Any] = [
        Text(f"{schedule.collective.kind} of {format_bytes(nbytes)} on {where}", style="bold"),
        shown,
        Text(f"The bound: {bound.witness}.", style="dim"),
    ]
    if found.stopped:
        lines.append(Text("Stopped early: this is the best so far.", style="yellow"))
    lines.append(
        Text("Not written: say --out FILE." if out is None else f"Written to {printable(str(out))}.")
    )
    return lines
