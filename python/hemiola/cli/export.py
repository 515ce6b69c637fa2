# SPDX-License-Identifier: Apache-2.0
"""`hemiola export`: a schedule in the format of another program."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from hemiola._core import Schedule, Topology
from hemiola.algorithms.schedule_text import describe
from hemiola.arguments.names import Op
from hemiola.cli import options
from hemiola.cli.inputs import load_schedule, read_text, read_topology
from hemiola.cli.output import answer, printable, written
from hemiola.cli.values import read_count, read_op, read_output, read_size
from hemiola.errors import ArgumentError
from hemiola.whole_file import write_whole

#: In place of a schedule: rings packed for a machine.
_RINGS = "rings"
#: Lines about files that are printed.
_FILES_SHOWN = 4


class Format(StrEnum):
    """The formats that can be written."""

    mscclpp = "mscclpp"
    nccl_graph = "nccl-graph"
    nccl_program = "nccl-program"
    chakra = "chakra"


@dataclass(frozen=True)
class _Asked:
    """The question: where to write, and the options of single formats."""

    out: Path
    op: Op
    lanes: int | None
    out_of_place: bool
    topology: Topology | None
    topology_file: Path | None
    nbytes: int | None
    channels: int | None


def export(
    schedule_name: options.ScheduleArgument,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            parser=options.reads(read_output),
            help="Where to write it; chakra: a prefix, to which .RANK.et is added.",
        ),
    ],
    to: Annotated[
        Format | None,
        typer.Option(
            "--to",
            help="mscclpp: an execution plan of MSCCL++ v0.10.0, in JSON; nccl-graph: rings or chains for "
            "NCCL_GRAPH_FILE; nccl-program: a CUDA program of grouped sends and receives; chakra: a trace per rank for "
            "ASTRA-sim.",
        ),
    ] = None,
    nccl_program: Annotated[
        bool, typer.Option("--nccl-program", help="The same as --to nccl-program.")
    ] = False,
    ranks: options.Ranks = None,
    op: Annotated[
        Op,
        typer.Option(
            "--op",
            metavar="OP",
            parser=options.reads(read_op),
            help="How elements are combined; not in chakra.",
        ),
    ] = "sum",
    topology_file: Annotated[
        Path | None,
        typer.Option(
            "--topology",
            metavar="FILE",
            help="nccl-graph: the machine in NCCL's XML. chakra: the network, which says by which ports messages "
            "leave; by default a rank has one.",
        ),
    ] = None,
    size: Annotated[
        int | None,
        typer.Option(
            "--size",
            metavar="SIZE",
            parser=options.reads(read_size),
            help="chakra: bytes of one rank's buffer: 64MiB.",
        ),
    ] = None,
    channels: Annotated[
        int | None,
        typer.Option(
            "--channels",
            metavar="COUNT",
            parser=options.reads(read_count),
            help="nccl-graph: channels; by default as many as keep one at 40 GB/s or below.",
        ),
    ] = None,
    lanes: Annotated[
        int | None,
        typer.Option(
            "--lanes",
            metavar="COUNT",
            parser=options.reads(read_count),
            help="mscclpp: thread blocks of a rank that work side by side; by default a chunk each, at most 16.",
        ),
    ] = None,
    out_of_place: Annotated[
        bool, typer.Option("--out-of-place", help="mscclpp: input and output are buffers of their own.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Write a schedule in the format of another program.

    In place of a schedule, 'rings' with nccl-graph stands for rings packed for the machine.

    Example: hemiola export all_reduce_ring --ranks 8 --to mscclpp --out ring.json
    """
    form = _form(to, nccl_program)
    if form is Format.nccl_graph and schedule_name == _RINGS:
        return _packed(topology_file, out, channels, as_json)
    topology = None if topology_file is None else read_topology(topology_file).topology
    schedule = load_schedule(
        schedule_name,
        ranks if topology is None or ranks is not None else topology.rank_count,
        topology=topology,
    )
    asked = _Asked(out, op, lanes, out_of_place, topology, topology_file, size, channels)
    files, facts = _WRITERS[form](schedule, asked)
    name = printable(schedule_name)
    about = {
        "schedule": name,
        "collective": schedule.collective.kind,
        "rank_count": schedule.rank_count,
        "transfer_count": schedule.transfer_count,
        "format": form.value,
    }
    _tell(as_json, about, f"{name}: {schedule.collective.kind}, {describe(schedule)}", files, facts)


def _tell(
    as_json: bool, about: dict[str, Any], title: str, files: Sequence[Path], facts: dict[str, int]
) -> None:
    answer(
        as_json,
        {**about, "files": [printable(str(file)) for file in files], "facts": facts},
        Text.assemble((about["format"], "bold"), f"  {title}"),
        *(Text(f"  {key.replace('_', ' ')}: {value:,}") for key, value in facts.items()),
        *written(*files[:_FILES_SHOWN]),
        *([Text(f"and {len(files) - _FILES_SHOWN:,} more.")] if len(files) > _FILES_SHOWN else []),
    )


def _packed(topology_file: Path | None, out: Path, channels: int | None, as_json: bool) -> None:
    """Write rings packed for a machine, without a schedule."""
    rank_count, facts = _write_graph(None, topology_file, out, channels)
    about = {
        "schedule": _RINGS,
        "collective": None,
        "rank_count": rank_count,
        "transfer_count": None,
        "format": Format.nccl_graph.value,
    }
    _tell(as_json, about, f"rings packed for {rank_count} GPUs", [out], facts)


def _nccl_graph(schedule: Schedule, asked: _Asked) -> tuple[list[Path], dict[str, int]]:
    _, facts = _write_graph(schedule, asked.topology_file, asked.out, asked.channels)
    return [asked.out], facts


def _write_graph(
    schedule: Schedule | None, topology_file: Path | None, out: Path, channels: int | None
) -> tuple[int, dict[str, int]]:
    """Write a graph; return the ranks that it has, and its sizes."""
    from hemiola.export.nccl_graph import nccl_graph
    from hemiola.export.nccl_graph_reader import read_graphs

    if topology_file is None:
        raise ArgumentError(
            "a graph is for a machine; say which, as NCCL_TOPO_DUMP_FILE writes it: --topology machine.xml"
        )
    text = nccl_graph(schedule, read_text(topology_file), channels=channels)
    rank_count = text.partition("</channel>")[0].count("<gpu ")
    graphs = read_graphs(text, "the graph", rank_count)
    write_whole(out, text)
    first = next(iter(graphs.values()))
    facts = {"graphs": len(graphs), "channels": len(first.channels), "orders": len(set(first.channels))}
    return rank_count, facts


def _form(to: Format | None, nccl_program: bool) -> Format:
    if to is None and not nccl_program:
        raise ArgumentError(f"which format is meant? Say --to {', --to '.join(Format)}")
    if to not in (None, Format.nccl_program) and nccl_program:
        raise ArgumentError(f"--to {to} and --nccl-program are two formats; keep one")
    return to or Format.nccl_program


def _mscclpp(schedule: Schedule, asked: _Asked) -> tuple[list[Path], dict[str, int]]:
    from hemiola.export.mscclpp import plan_data

    in_place = False if asked.out_of_place else None
    data = plan_data(schedule, op=asked.op, name=asked.out.stem, in_place=in_place, lanes=asked.lanes)
    write_whole(asked.out, json.dumps(data, separators=(",", ":")))
    gpus = data["gpus"]
    return [asked.out], {
        "chunks": max(gpus[0]["input_chunks"], gpus[0]["output_chunks"]),
        "scratch_chunks_at_most": max(gpu["scratch_chunks"] for gpu in gpus),
        "thread_blocks_at_most": max(len(gpu["threadblocks"]) for gpu in gpus),
    }


def _nccl_program(schedule: Schedule, asked: _Asked) -> tuple[list[Path], dict[str, int]]:
    from hemiola.export.nccl_program import nccl_program, steps_of

    write_whole(asked.out, nccl_program(schedule, op=asked.op, name=asked.out.name))
    steps = steps_of(schedule)
    return [asked.out], {
        "groups": len(steps.rows),
        "units": steps.unit_count,
        "units_with_scratch": steps.memory_units,
    }


def _chakra(schedule: Schedule, asked: _Asked) -> tuple[list[Path], dict[str, int]]:
    from hemiola.export.chakra import chakra_traces

    if asked.nbytes is None:
        raise ArgumentError("a trace has the sizes of messages; say the buffer's: --size 64MiB, for instance")
    traces = chakra_traces(schedule, asked.nbytes, topology=asked.topology)
    files = [asked.out.with_name(f"{asked.out.name}.{rank}.et") for rank in range(len(traces))]
    for file, trace in zip(files, traces, strict=True):
        write_whole(file, trace)
    return files, {"nbytes": asked.nbytes, "bytes_of_traces": sum(map(len, traces))}


_WRITERS = {
    Format.mscclpp: _mscclpp,
    Format.nccl_graph: _nccl_graph,
    Format.nccl_program: _nccl_program,
    Format.chakra: _chakra,
}
