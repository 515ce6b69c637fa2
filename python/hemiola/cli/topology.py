# SPDX-License-Identifier: Apache-2.0
"""`hemiola topology`: show, convert and draw networks from files of every format that is read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from hemiola._core import Topology
from hemiola.cli import options, values
from hemiola.cli.inputs import read_topology, with_changed_links, without_nics
from hemiola.cli.option_groups import NO_CHANGES, NO_SPEEDS, LinkChanges, LinkSpeeds, with_groups
from hemiola.cli.output import answer, fitted, printable, table
from hemiola.cli.question import network_asked
from hemiola.errors import ArgumentError
from hemiola.topology.named_nics import nics_in_words
from hemiola.topology.summary import OddRank, Summary, parted_without, size_in_words, summarize
from hemiola.topology.wiring import TopologyFile
from hemiola.topology.yaml_writer import to_yaml
from hemiola.units import format_bandwidth, format_seconds
from hemiola.view.picture_file import check_suffix

#: Vertices whose names are shown.
_VERTICES_SHOWN = 64
#: Kinds of links that a table shows.
_KINDS_SHOWN = 20

app = typer.Typer(help="Show, convert and draw networks.", no_args_is_help=True)

_Source = Annotated[
    Path,
    typer.Argument(
        metavar="TOPOLOGY",
        help="YAML file, NCCL's topology XML or log, or the output of 'nvidia-smi topo -m', 'rocm-smi --showtopo' or "
        "'amd-smi topology'.",
    ),
]


@app.command()
@with_groups
def show(
    source: _Source,
    changes: LinkChanges = NO_CHANGES,
    speeds: LinkSpeeds = NO_SPEEDS,
    as_json: options.Json = False,
) -> int:
    """List a network's parts, and check that all ranks reach each other; if they do not, the exit code is 1.

    Example: hemiola topology show examples/cluster8.yaml
    """
    read = read_topology(source, speeds, changes)
    summary = summarize(read.topology, read.assumed)
    asked = network_asked(read.topology, source, changes, speeds)
    answer(as_json, {**asked, **_summary_data(read, summary)} if as_json else None, *_report(read, summary))
    return 0 if summary.cut is None else 1


@app.command()
@with_groups
def convert(
    source: _Source,
    target: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Where to write YAML; standard output by default.")
    ] = None,
    degrade: Annotated[
        list[str] | None,
        typer.Option(
            "--degrade",
            metavar="A-B=FACTOR",
            help="A link is slower, in both directions: 3-7=4; or a NIC: nic:mlx5_1=2. Repeat or join with commas.",
        ),
    ] = None,
    without_link: options.WithoutLink = None,
    without_nic: options.WithoutNic = None,
    without_ranks: Annotated[
        str | None, typer.Option(metavar="RANKS", help="Leave these ranks out: 7, or 3,7.")
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option(
            metavar="COUNT",
            parser=options.reads(values.read_count),
            help="So many copies of the box, joined at its last switch: the network, in files from NCCL.",
        ),
    ] = None,
    unwind: Annotated[
        int | None,
        typer.Option(
            metavar="DEGREE",
            parser=options.reads(values.read_count),
            help="Replace switches by links to that many successors.",
        ),
    ] = None,
    speeds: LinkSpeeds = NO_SPEEDS,
    as_json: options.Json = False,
) -> None:
    """Write a network as YAML, changed on the way if wanted: links, ranks left out, then repeated, then unwound.

    With --json, print it as JSON too.

    Example: hemiola topology convert dump.xml rack.yaml --repeat 4
    """
    read = read_topology(source, speeds)
    topology = without_nics(with_changed_links(read, degrade, without_link), without_nic).topology
    if repeat is not None and read.lacks_network:
        raise ArgumentError(
            "--repeat joins copies at their network, and the output of nvidia-smi has no speed of NICs; give it: "
            "--nic-bandwidth '200 Gbit/s'"
        )
    if without_ranks is not None:
        topology = topology.without_ranks([values.read_count(rank) for rank in without_ranks.split(",")])
    if repeat is not None:
        topology = topology.repeated(repeat, shared=[_network_of(topology)])
    if unwind is not None:
        topology = topology.unwind_switches(unwind)
    if target is not None:
        topology.save(target)
    elif not as_json:
        typer.echo(to_yaml(topology), nl=False)
    if target is not None or as_json:
        asked = network_asked(read.topology, source, speeds)
        asked["topology_options"] |= {
            "degrade": degrade,
            "without_link": without_link,
            "without_nic": without_nic,
            "without_ranks": without_ranks,
            "repeat": repeat,
            "unwind": unwind,
        }
        asked["file"] = None if target is None else printable(str(target))
        answer(
            as_json, {**asked, **_topology_data(topology)} if as_json else None, _written(topology, target)
        )


@app.command()
@with_groups
def draw(
    source: _Source,
    picture: Annotated[
        Path,
        typer.Argument(
            metavar="PICTURE",
            parser=options.reads(check_suffix),
            help="File to draw into: .png, .svg or .pdf.",
        ),
    ],
    changes: LinkChanges = NO_CHANGES,
    speeds: LinkSpeeds = NO_SPEEDS,
    as_json: options.Json = False,
) -> None:
    """Draw a network: ranks, switches, hosts, and links coloured by bandwidth.

    Example: hemiola topology draw examples/cluster8.yaml cluster8.png
    """
    topology = read_topology(source, speeds, changes).topology
    from hemiola.view.topology import draw_topology

    draw_topology(topology, picture)
    asked = network_asked(topology, source, changes, speeds)
    data = {**asked, "picture": printable(str(picture)), **_size_data(topology)}
    answer(as_json, data, _written(topology, picture))


def _network_of(topology: Topology) -> int:
    """Return the last switch, which joins hosts in topologies read from NCCL's and nvidia-smi's output."""
    if topology.switch_count == 0:
        raise ArgumentError("--repeat joins copies at the last switch, but this topology has none")
    network = topology.rank_count + topology.switch_count - 1
    if parted := parted_without(topology, network):
        raise ArgumentError(
            f"--repeat joins copies at the last switch, but without that (vertex {network}) ranks {parted[0]} and "
            f"{parted[1]} of one host do not reach each other: it is part of the host, not the network between hosts. "
            "Add the network to the file as the last switch, with links to the hosts' NICs"
        )
    return network


def _written(topology: Topology, target: Path | None) -> RenderableType:
    arrow = f" -> {printable(str(target))}" if target else ""
    return Text.assemble((_title(topology), "bold"), f": {size_in_words(topology)}{arrow}")


def _title(topology: Topology) -> str:
    return topology.name or "topology"


def _report(read: TopologyFile, summary: Summary) -> list[RenderableType]:
    topology = read.topology
    costs_messages = any(kind.message_s for kind in summary.kinds)
    kinds = table(
        "links", "count", "bandwidth", "latency", *(["a message"] if costs_messages else []), left=("links",)
    )
    for kind in summary.kinds[:_KINDS_SHOWN]:
        cost = [
            _marked(format_bandwidth(kind.bandwidth), kind.is_bandwidth_assumed),
            _marked(format_seconds(kind.latency_s), kind.is_latency_assumed),
        ]
        if costs_messages:
            cost.append(_marked(format_seconds(kind.message_s), kind.is_message_assumed))
        kinds.add_row(kind.ends, f"{kind.count:,}", *cost)
    if len(summary.kinds) > _KINDS_SHOWN:
        kinds.caption = f"and {len(summary.kinds) - _KINDS_SHOWN:,} more kinds"
    return [
        Text.assemble((_title(topology), "bold"), f": {size_in_words(topology)}"),
        fitted(kinds),
        *(
            [f"a launch takes  {_marked(format_seconds(topology.launch_s), read.is_launch_assumed)}"]
            if topology.launch_s
            else []
        ),
        *(["* assumed: the file does not say it; all else was read"] if _assumes(summary) else []),
        *_abilities(topology),
        f"a rank sends    {_range(summary.out_bandwidth)}",
        f"a rank receives {_range(summary.in_bandwidth)}",
        *([f"NICs of {nics_in_words(topology)}"] if topology.nics else []),
        *(["vertices: " + _vertices(topology)] if topology.names else []),
        *(_lacking(topology, odd) for odd in summary.odd),
        _reach(topology, summary),
    ]


def _assumes(summary: Summary) -> bool:
    return any(
        kind.is_latency_assumed or kind.is_bandwidth_assumed or kind.is_message_assumed
        for kind in summary.kinds
    )


def _marked(text: str, is_assumed: bool) -> str:
    return f"{text}*" if is_assumed else text


def _vertices(topology: Topology) -> str:
    """List vertices by number and name, as many as a screen takes."""
    listed = [f"{vertex} {name}" for vertex, name in enumerate(topology.names[:_VERTICES_SHOWN]) if name]
    more = len(topology.names) - _VERTICES_SHOWN
    return ", ".join([*listed, *([f"and {more:,} more"] if more > 0 else [])])


def _lacking(topology: Topology, odd: OddRank) -> str:
    what = f"the link of {format_bandwidth(odd.bandwidth)} to {odd.name or 'a ' + odd.ends.split(' - ')[1]}"
    return f"{topology.called(odd.rank)} lacks {what} that {odd.others} other ranks have"


def _abilities(topology: Topology) -> Iterator[str]:
    """Name the switches that do more than forward."""
    for does, switches in (("reduces", topology.reduces), ("multicasts", topology.multicasts)):
        if switches:
            named = ", ".join(topology.called(switch) for switch in switches[:_VERTICES_SHOWN])
            yield f"{does:<15} {named}{', …' if len(switches) > _VERTICES_SHOWN else ''}"


def _range(bandwidths: tuple[float, float]) -> str:
    low, high = bandwidths
    return format_bandwidth(low) if low == high else f"{format_bandwidth(low)} to {format_bandwidth(high)}"


def _reach(topology: Topology, summary: Summary) -> str:
    if summary.cut is not None:
        a, b = (topology.called(rank) for rank in summary.cut)
        first, second = summary.cut
        hint = f", though {second} reaches {first}: a link goes one way unless it says both_ways: true"
        return f"disconnected: {a} does not reach {b}{hint if summary.is_one_way else ''}"
    if summary.hops is None:
        return "every rank reaches every other"
    return f"every rank reaches every other, over {summary.hops} links at most"


def _size_data(topology: Topology) -> dict[str, Any]:
    return {
        "name": topology.name,
        "rank_count": topology.rank_count,
        "switch_count": topology.switch_count,
        "node_count": topology.node_count,
        "link_count": topology.link_count,
    }


def _summary_data(read: TopologyFile, summary: Summary) -> dict[str, Any]:
    topology = read.topology
    return {
        **_size_data(topology),
        "launch_s": topology.launch_s,
        "is_launch_assumed": read.is_launch_assumed,
        "link_kinds": [vars(kind) for kind in summary.kinds],
        "out_bandwidth": dict(zip(("min", "max"), summary.out_bandwidth, strict=True)),
        "in_bandwidth": dict(zip(("min", "max"), summary.in_bandwidth, strict=True)),
        "is_connected": summary.cut is None,
        "hops": summary.hops,
        "reduces": topology.reduces,
        "multicasts": topology.multicasts,
        "nics": [{"name": name, "host": host} for name, host, _ in topology.nics],
        "vertices": topology.names,
        "lacking": [vars(odd) for odd in summary.odd],
    }


def _topology_data(topology: Topology) -> dict[str, Any]:
    names = topology.links.dtype.names or ()
    return {
        **_size_data(topology),
        "nodes": topology.nodes.tolist(),
        "vertices": topology.names,
        "links": [dict(zip(names, row, strict=True)) for row in topology.links.tolist()],
        "reduces": topology.reduces,
        "multicasts": topology.multicasts,
        "nics": [{"name": name, "host": host, "links": links} for name, host, links in topology.nics],
    }
