# SPDX-License-Identifier: Apache-2.0
"""`hemiola simulate`: how long a schedule takes on a topology, and where it is stuck."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.columns import Columns
from rich.console import RenderableType
from rich.text import Text

from hemiola._core import Schedule, Topology, Violation
from hemiola.arguments.names import as_kind
from hemiola.bounds import LowerBound, lower_bound
from hemiola.cli import options
from hemiola.cli.inputs import load_schedule, read_topology
from hemiola.cli.option_groups import NO_CHANGES, NO_SPEEDS, LinkChanges, LinkSpeeds, with_groups
from hemiola.cli.output import answer, counted, fitted, printable, table, written
from hemiola.cli.question import conditions_asked, network_asked
from hemiola.cli.values import read_conditions, read_output
from hemiola.cli.violations import violation_data, warning
from hemiola.conditions import Conditions
from hemiola.planner.outcome import NOTHING_MOVES
from hemiola.simulate import Timeline
from hemiola.simulate import simulate as run_simulation
from hemiola.topology.named_nics import settled
from hemiola.units import format_bandwidth, format_bytes, format_seconds
from hemiola.verify import first_violation

#: Ranks and links that are printed one by one.
_RANKS_SHOWN, _LINKS_SHOWN = 16, 8


@with_groups
def simulate(
    schedule_name: options.ScheduleArgument,
    topology_file: options.TopologyFile,
    nbytes: options.SizeArgument,
    late: options.Late = None,
    slow: options.Slow = None,
    density: options.Density = 1.0,
    changes: LinkChanges = NO_CHANGES,
    speeds: LinkSpeeds = NO_SPEEDS,
    root: options.Root = 0,
    network: options.NetworkOption = options.Network.fluid,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace",
            metavar="FILE",
            parser=options.reads(read_output),
            help="Write a trace for Perfetto or chrome://tracing.",
        ),
    ] = None,
    chart: options.Chart = None,
    as_json: options.Json = False,
) -> None:
    """Simulate a schedule on a topology: when each rank is done, and which links are busy.

    A wrong schedule is simulated, too. Its first fault comes first; exit code 1.

    Example: hemiola simulate all_reduce_ring cluster.yaml 64MiB --late 7=50ms
    """
    topology = read_topology(topology_file, speeds, changes).topology
    conditions = read_conditions(late, slow, topology.rank_count, density, topology)
    schedule = load_schedule(
        schedule_name, topology.rank_count, root, topology=topology, nbytes=nbytes, conditions=conditions
    )
    violation = first_violation(schedule)
    timeline = run_simulation(
        schedule, topology, nbytes, conditions=conditions, network=network.value, unchecked=True
    )
    kind = schedule.collective.kind
    bound = (
        None
        if kind == "custom"
        else lower_bound(topology, as_kind(kind), nbytes, conditions, schedule.collective.root or 0)
    )
    if trace is not None:
        timeline.save_trace(str(trace))
    what = f"{format_bytes(nbytes)} over {counted(topology.rank_count, 'rank')}"
    title = f"{printable(schedule_name)}, {what}, {network.value} network"
    if chart is not None:
        from hemiola.view.timeline import draw_timeline

        where = topology.name or printable(topology_file.name)
        draw_timeline(schedule, timeline, chart, title=title, subtitle=where, conditions=conditions)
    answer(
        as_json,
        {
            **network_asked(topology, topology_file, changes, speeds),
            **conditions_asked(conditions, network.value),
            "root": root,
            "schedule": printable(schedule_name),
            **_data(schedule, topology, nbytes, timeline, bound, violation),
        },
        Text(title, style="bold"),
        _summary(timeline, bound, nbytes),
        Columns([_finish_table(timeline), _link_table(topology, conditions, timeline)], padding=(0, 6)),
        *([] if violation is None else [warning(printable(schedule_name), violation)]),
        *written(trace, chart),
    )
    if violation is not None:
        raise typer.Exit(1)


def _summary(timeline: Timeline, bound: LowerBound | None, nbytes: int) -> Text:
    shown = Text.assemble("  done after ", (format_seconds(timeline.seconds), "bold green"))
    if bound is not None and bound.seconds > 0:
        ratio = timeline.seconds / bound.seconds
        shown.append(f", {ratio:.3g} times the lower bound of {format_seconds(bound.seconds)}")
        shown.append(f"\n  ({bound.witness.rstrip('.')})")
    if nbytes == 0:
        shown.append(f"\n  {NOTHING_MOVES}")
    return shown


def _finish_table(timeline: Timeline) -> RenderableType:
    finish_s = timeline.finish_s
    if len(finish_s) > _RANKS_SHOWN:
        shown = table("rank", "done after", title=f"First, last of {len(finish_s)}")
        order = np.argsort(finish_s, kind="stable")
        ranks = [int(rank) for rank in (*order[:4], *order[-4:])]
    else:
        shown = table("rank", "done after", title="Ranks")
        ranks = list(range(len(finish_s)))
    for rank in ranks:
        shown.add_row(str(rank), format_seconds(float(finish_s[rank])))
    return shown


def _link_table(topology: Topology, conditions: Conditions, timeline: Timeline) -> RenderableType:
    busy_s, links = timeline.link_busy_s, settled(topology, conditions)[0].links
    used = int(np.count_nonzero(busy_s))
    title = f"Busiest links ({used} of {len(busy_s)} used)"
    shown = table("link", "bandwidth", "busy", "share of the time", title=title)
    for index in np.argsort(-busy_s, kind="stable")[:_LINKS_SHOWN]:
        link = links[index]
        shown.add_row(
            f"{_vertex(topology, int(link['src']))} > {_vertex(topology, int(link['dst']))}",
            format_bandwidth(_bandwidth(link, conditions)),
            format_seconds(float(busy_s[index])),
            f"{busy_s[index] / timeline.seconds:.0%}" if timeline.seconds > 0 else "-",
        )
    return fitted(shown, dropped=("bandwidth", "busy"))


def _bandwidth(link: np.void, conditions: Conditions) -> float:
    """Return how fast a link is where ports of its ends are slower: as fast as the slower one lets it."""
    slow = conditions.slow_ranks
    return float(link["bandwidth"]) / max(slow.get(int(link["src"]), 1.0), slow.get(int(link["dst"]), 1.0))


def _vertex(topology: Topology, vertex: int) -> str:
    return f"{vertex}" if vertex < topology.rank_count else f"switch {vertex - topology.rank_count}"


def _data(
    schedule: Schedule,
    topology: Topology,
    nbytes: int,
    timeline: Timeline,
    bound: LowerBound | None,
    violation: Violation | None,
) -> dict[str, Any]:
    links = topology.links
    return {
        "collective": schedule.collective.kind,
        "nbytes": nbytes,
        "rank_count": topology.rank_count,
        "step_count": schedule.step_count,
        "transfer_count": schedule.transfer_count,
        "violation": None if violation is None else violation_data(violation),
        "seconds": timeline.seconds,
        "bound_s": bound.seconds if bound else None,
        "bound_witness": bound.witness if bound else None,
        "finish_s": timeline.finish_s.tolist(),
        "links": [
            {"src": int(src), "dst": int(dst), "busy_s": busy}
            for src, dst, busy in zip(links["src"], links["dst"], timeline.link_busy_s.tolist(), strict=True)
        ],
    }
