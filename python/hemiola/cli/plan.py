# SPDX-License-Identifier: Apache-2.0
"""`hemiola plan`: which algorithm the planner would run, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from hemiola.cli import options, values
from hemiola.cli.inputs import read_topology
from hemiola.cli.option_groups import NO_CHANGES, NO_SPEEDS, LinkChanges, LinkSpeeds, with_groups
from hemiola.cli.output import answer, counted, fitted, table, written
from hemiola.cli.question import conditions_asked, network_asked
from hemiola.cli.values import read_conditions
from hemiola.planner import Alternative, Plan
from hemiola.planner import plan as make_plan
from hemiola.units import format_bytes, format_seconds


@with_groups
def plan(
    kind: options.KindArgument,
    topology_file: options.TopologyFile,
    nbytes: options.SizeArgument,
    late: options.Late = None,
    slow: options.Slow = None,
    density: options.Density = 1.0,
    changes: LinkChanges = NO_CHANGES,
    speeds: LinkSpeeds = NO_SPEEDS,
    root: options.Root = 0,
    network: options.NetworkOption = options.Network.fluid,
    save: Annotated[
        Path | None,
        typer.Option(
            "--save",
            metavar="FILE",
            parser=options.reads(values.read_output),
            help="Write the chosen schedule to this file.",
        ),
    ] = None,
    effort: Annotated[
        float,
        typer.Option(
            "--effort",
            metavar="FACTOR",
            parser=options.reads(values.read_effort),
            help="How many times as much as usual may be made and simulated.",
        ),
    ] = 1.0,
    chart: options.Chart = None,
    as_json: options.Json = False,
) -> None:
    """Choose the schedule for a collective on a topology, and say why.

    Example: hemiola plan all_reduce cluster.yaml 64MiB --slow 0=2
    """
    topology = read_topology(topology_file, speeds, changes).topology
    conditions = read_conditions(late, slow, topology.rank_count, density, topology)
    made = make_plan(topology, kind, nbytes, conditions, root=root, network=network.value, effort=effort)
    if save is not None:
        made.schedule.save(str(save))
    if chart is not None:
        _draw(made, chart)
    asked = {
        **network_asked(topology, topology_file, changes, speeds),
        **conditions_asked(conditions, network.value),
        "root": root,
        "effort": effort,
    }
    answer(
        as_json,
        {**asked, **_data(made)},
        _table(made),
        Padding(Text(made.explain()), (0, 0, 1, 1)),
        *written(save, chart),
    )


def _table(made: Plan) -> RenderableType:
    columns = ("algorithm", "formula", f"simulated ({made.network})", "over bound", "transfers")
    shown = table(*columns, title=_title(made), left=("algorithm",))
    for place, other in enumerate(made.alternatives):
        shown.add_row(
            other.label,
            format_seconds(other.formula_s),
            _simulated(other),
            f"{other.seconds / made.bound_s:.2f}" if made.bound_s > 0 else "-",
            f"{other.transfer_count:,}",
            style="bold green" if place == 0 else "",
        )
    return fitted(shown, dropped=("transfers", "formula", "over bound"), prefix=f"{made.kind}_")


def _simulated(other: Alternative) -> str:
    if other.busiest_link_s is not None:
        return f"> {format_seconds(other.busiest_link_s)}"
    if other.estimated_s is not None:
        return f"≈ {format_seconds(other.estimated_s)}"
    return "-" if other.simulated_s is None else format_seconds(other.simulated_s)


def _title(made: Plan) -> str:
    return f"{made.kind} of {format_bytes(made.nbytes)} over {counted(made.rank_count, 'rank')}"


def _data(made: Plan) -> dict[str, Any]:
    return {
        "collective": made.kind,
        "nbytes": made.nbytes,
        "rank_count": made.rank_count,
        "algorithm": made.name,
        "seconds": made.seconds,
        "is_simulated": made.is_simulated,
        "bound_s": made.bound_s,
        "bound_witness": made.bound.witness,
        "bound_assumes": made.bound.assumes,
        "alternatives": [_alternative(other) for other in made.alternatives],
        "explanation": made.explain(),
    }


def _alternative(other: Alternative) -> dict[str, Any]:
    return {
        "algorithm": other.name,
        "variant": other.variant,
        "formula_s": other.formula_s,
        "simulated_s": other.simulated_s,
        "busiest_link_s": other.busiest_link_s,
        "estimated_s": other.estimated_s,
        "transfer_count": other.transfer_count,
    }


def _draw(made: Plan, path: Path) -> None:
    from hemiola.view.algorithm_time import AlgorithmTime
    from hemiola.view.times import draw_times

    draw_times(
        [AlgorithmTime(other.label, predicted_s=other.seconds) for other in made.alternatives],
        path,
        title=f"{_title(made)}, {made.topology_name or 'topology'}",
        conditions=made.conditions,
        subtitle=f"{made.network} network",
        bound_s=made.bound_s,
    )
