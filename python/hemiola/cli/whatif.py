# SPDX-License-Identifier: Apache-2.0
"""`hemiola whatif`: a training step on a network, predicted, and its gain over other libraries' schedules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from hemiola.cli import options, values
from hemiola.cli.inputs import read_topology
from hemiola.cli.option_groups import NO_CHANGES, NO_SPEEDS, LinkChanges, LinkSpeeds, with_groups
from hemiola.cli.output import answer, fitted, printable, table, written
from hemiola.cli.question import conditions_asked, network_asked
from hemiola.cli.values import read_conditions, read_seconds
from hemiola.errors import ArgumentError, FormatError
from hemiola.units import format_seconds
from hemiola.workload import Parallel, WhatIf
from hemiola.workload import whatif as predict
from hemiola.workload.buckets import EIGHT_BITS, WHOLE
from hemiola.workload.parallel import parse_parallel
from hemiola.workload.prediction import size_in_words

#: Buckets of a range, at most.
_MOST_BUCKETS = 100_000


@with_groups
def whatif(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="TRACE|MODEL",
            help="A model by name, with parameters behind a colon (gpt-7b, transformer:layers=24,width=2048), or a "
            "trace: ASTRA-sim's text, Chakra's, PyTorch's profiler's file, or a folder of PyTorch's traces.",
        ),
    ],
    topology_file: Annotated[
        Path,
        typer.Option(
            "--topology", "-t", metavar="TOPOLOGY", help="Topology file, as 'hemiola plan' reads it."
        ),
    ],
    parallel: Annotated[
        Parallel | None,
        typer.Option(
            "--parallel",
            metavar="NAME=VALUE,…",
            parser=options.reads(parse_parallel),
            help="dp, tp, pp and ep: ranks of each kind of group; zero=1…3 or fsdp; prefetch, bucket, micro, skew, "
            "quantized. By default each rank has a replica.",
        ),
    ] = None,
    late: options.Late = None,
    slow: options.Slow = None,
    density: options.Density = 1.0,
    bucket: Annotated[
        list[str] | None,
        typer.Option(
            "--bucket",
            metavar="WHICH=HOW",
            help="How a bucket of gradients travels: 0=0.01 with that density, 1-3=8bit with eight bits an element, "
            "edp=whole. WHICH is a number, a range, or a class of groups. Repeat or join with commas.",
        ),
    ] = None,
    changes: LinkChanges = NO_CHANGES,
    speeds: LinkSpeeds = NO_SPEEDS,
    overlap_loss: Annotated[
        float,
        typer.Option(
            "--overlap-loss",
            metavar="SHARE",
            help="Share of its speed that computation loses beside communication, from 0 to below 1.",
        ),
    ] = 0.0,
    cores: Annotated[
        int,
        typer.Option(
            "--cores",
            metavar="N",
            help="Processor cores that all ranks share, as on the hosts of 'hemiola cluster'; 0: each has its own.",
        ),
    ] = 0,
    untraced: Annotated[
        float,
        typer.Option(
            "--untraced",
            metavar="TIME",
            parser=options.reads(read_seconds),
            help="A trace's step on the same ranks without the profiler, which takes time for each operator.",
        ),
    ] = 0.0,
    software: Annotated[
        list[str] | None,
        typer.Option(
            "--software",
            metavar="LIBRARY=TIME",
            help="Measured software of one call, which uses no link: gloo-like=4.8ms; also hemiola, ring, nccl-like, "
            "pccl-like. Repeat or join with commas.",
        ),
    ] = None,
    chart: options.Chart = None,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            parser=options.reads(values.read_output),
            help="Write a page to explore the step.",
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Predict a training step: computation, hidden and exposed communication, and the gain over other libraries.

    Example: hemiola whatif gpt-7b --topology cluster.yaml --parallel tp=8 --late 7=50ms
    """
    topology = read_topology(topology_file, speeds, changes).topology
    conditions = read_conditions(late, slow, topology.rank_count, density, topology)
    buckets = _read_buckets(bucket or ())
    software_s = _read_software(software or ())
    found = predict(
        subject,
        topology,
        conditions,
        parallel=parallel,
        buckets=buckets,
        overlap_loss=overlap_loss,
        cores=cores,
        untraced_s=untraced,
        software_s=software_s,
    )
    if chart is not None:
        _draw(found, chart)
    if html is not None:
        from hemiola.view.page import explore

        explore(found, html)
    asked = {
        **network_asked(topology, topology_file, changes, speeds),
        **conditions_asked(conditions),
        "subject": printable(subject),
        "buckets": {str(which): how for which, how in buckets.items()},
        "overlap_loss": overlap_loss,
        "cores": cores,
        "untraced_s": untraced,
        "software_s": software_s,
    }
    answer(
        as_json,
        {**asked, **_data(found)},
        _libraries(found),
        _calls(found),
        Padding(Text(found.explain()), (0, 0, 1, 1)),
        *written(chart, html),
    )


def _read_buckets(texts: Iterable[str]) -> dict[int | str, float | str]:
    """Read '0=0.01', '1-3=8bit' and 'edp=whole', comma-separated or one per text, as bucket → how it travels."""
    found: dict[int | str, float | str] = {}
    for which, how in _pairs(texts, "bucket=density such as '0=0.01', or 1-3=8bit or edp=whole"):
        for bucket in _bucket_range(which):
            if bucket in found:
                raise ArgumentError(f"bucket {bucket} is given twice; keep one")
            found[bucket] = how if how in (EIGHT_BITS, WHOLE) else values.read_density(how)
    return found


def _read_software(texts: Iterable[str]) -> dict[str, float]:
    """Read 'gloo-like=4.8ms' pairs, comma-separated or one per text, as library → seconds."""
    found: dict[str, float] = {}
    for library, time in _pairs(texts, "library=time such as 'gloo-like=4.8ms'"):
        if library in found:
            raise ArgumentError(f"software of {library} is given twice; keep one")
        found[library] = read_seconds(time)
    return found


def _pairs(texts: Iterable[str], form: str) -> Iterator[tuple[str, str]]:
    """Yield both sides of each 'key=value', comma-separated or one per text."""
    for text in (part for joined in texts for part in printable(joined).split(",")):
        key, equals, value = text.partition("=")
        if not equals:
            raise FormatError(f"expected {form}, found '{text}'")
        yield key, value


def _bucket_range(text: str) -> Iterable[int | str]:
    """Read a bucket's number, or a first and last one; anything else is a class of groups."""
    first, _, last = text.partition("-")
    if not (first.isdecimal() and (last.isdecimal() or not last)):
        return (text,)
    numbers = range(int(first), int(last or first) + 1)
    if not 0 < len(numbers) <= _MOST_BUCKETS:
        raise ArgumentError(f"expected 1 to {_MOST_BUCKETS:,} buckets such as '1-3', found '{text}'")
    return numbers


def _draw(found: WhatIf, path: Path) -> None:
    from hemiola.view import style
    from hemiola.view.drawing import draw

    style.save(style.figure_of(draw(found)), path)


def _libraries(found: WhatIf) -> RenderableType:
    """Return a table of the step's time by library."""
    shown = table("schedules", "step", "Hemiola saves", title=_title(found), left=("schedules",))
    shown.add_row("Hemiola", format_seconds(found.seconds), "", style="bold green")
    for name, seconds in found.others.items():
        shown.add_row(name, format_seconds(seconds), f"{found.gains[name]:.1%}")
    shown.add_row("lower bound", format_seconds(found.bound_s), "")
    return shown


def _calls(found: WhatIf) -> RenderableType:
    """Return a table of the collectives, the most exposed first."""
    columns = ("collective", "groups of", "size", "times", "algorithm", "each", "over bound", "exposed")
    shown = table(*columns, left=("collective", "algorithm"))
    for call in found.calls:
        shown.add_row(
            f"{call.kind} ({call.group})",
            f"{call.rank_count:,}",
            size_in_words(call),
            f"{call.count:,}",
            printable(call.algorithm),
            format_seconds(call.seconds),
            f"{call.seconds / call.bound_s:.2f}" if call.bound_s > 0 else "-",
            format_seconds(call.exposed_s),
        )
    return fitted(shown, dropped=("over bound", "algorithm"), wrapped=("algorithm",))


def _title(found: WhatIf) -> str:
    split = found.parallel
    return f"{found.name} on {found.rank_count:,} ranks: dp {split.dp:,}, tp {split.tp:,}, pp {split.pp:,}"


def _data(found: WhatIf) -> dict[str, Any]:
    return {
        "name": found.name,
        "rank_count": found.rank_count,
        "parallel": asdict(found.parallel),
        "seconds": found.seconds,
        "compute_s": found.compute_s,
        "hidden_s": found.hidden_s,
        "exposed_s": found.exposed_s,
        "waiting_s": found.waiting_s,
        "role": found.role,
        "bound_s": found.bound_s,
        "libraries": [
            {"library": name, "seconds": seconds, "saved": found.gains[name]}
            for name, seconds in found.others.items()
        ],
        "calls": [asdict(call) for call in found.calls],
        "limit": found.limit,
        "assumptions": list(found.assumptions),
        "explanation": found.explain(),
    }
