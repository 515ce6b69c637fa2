# SPDX-License-Identifier: Apache-2.0
"""`hemiola diagnose`: the causes that slow ranks that work together, their cost, and remedies."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from hemiola.cli import options, values
from hemiola.cli.inputs import rank_count_of, read_topology
from hemiola.cli.option_groups import NO_SPEEDS, LinkSpeeds, with_groups
from hemiola.cli.output import answer, counted, fitted, table
from hemiola.cli.question import conditions_asked, network_asked
from hemiola.diagnosis import Diagnosis, Finding
from hemiola.errors import ArgumentError
from hemiola.measure.checkup import Checkup, Faults, check_up
from hemiola.measure.joined import joined_job
from hemiola.units import format_seconds


@with_groups
def diagnose(
    ranks: options.Ranks = None,
    emulate: options.Emulate = None,
    late: options.Late = None,
    slow: options.Slow = None,
    slow_link: options.SlowLink = None,
    speeds: LinkSpeeds = NO_SPEEDS,
    slow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--slow-host",
            metavar="HOST=FACTOR",
            help="A host's ranks work slower: 1=2. Repeat or join with commas.",
        ),
    ] = None,
    steps: Annotated[
        int,
        typer.Option(
            "--steps",
            metavar="COUNT",
            parser=options.reads(values.read_count),
            help="Steps to watch, at least 8.",
        ),
    ] = 48,
    as_json: options.Json = False,
) -> None:
    """Have ranks compute and all-reduce for some seconds, and find the cause that slows them.

    Starts ranks. Started by a launcher (hemiola launch, torchrun, mpirun, srun, 'hemiola cluster run'), it uses the
    ranks of that job, and rank 0 prints the findings. Looks for ranks that come late of their own doing, slow hosts,
    slow NICs and links, and a machine with too few cores. Each finding comes with evidence, its cost per step, and the
    planner's gain. --late, --slow, --slow-link and --slow-host put in faults that the diagnosis does not know. In a
    program of your own, comm.diagnose() judges its latest operations. Exit code 1 where something is wrong; in a job 0,
    since no rank has failed.

    Example: hemiola diagnose --emulate cluster.yaml --slow 2=3
    """
    job = joined_job(ranks)
    if job is not None:
        ranks = job.rank_count
    cluster = None if emulate is None else read_topology(emulate, speeds).topology
    count = rank_count_of(ranks, cluster)
    conditions = values.read_conditions(late, slow, count, topology=cluster)
    if steps < _LEAST_STEPS:
        raise ArgumentError(f"expected at least {_LEAST_STEPS} steps, found {steps}: fewer say little")
    faults = Faults(
        late=conditions.late,
        slow=conditions.slow,
        slow_links=values.read_slow_links(slow_link or (), cluster),
        slow_hosts=values.read_slow(slow_host or ()),
    )
    found = check_up(Checkup(count, cluster, faults, steps), job=job)
    if job is None or job.rank == 0:
        asked = {
            **network_asked(cluster, emulate, speeds),
            **conditions_asked(conditions),
            "slow_link": slow_link or [],
            "slow_host": {str(host): factor for host, factor in faults.slow_hosts.items()},
            "steps": steps,
        }
        answer(as_json, {**asked, **_data(found, count)}, _told(found, count))
    if job is None and found.findings:
        raise typer.Exit(1)


_LEAST_STEPS = 8


def _data(found: Diagnosis, count: int) -> dict[str, Any]:
    return {"rank_count": count, **found.as_dict()}


def _told(found: Diagnosis, count: int) -> RenderableType:
    operations, ranks = counted(found.operation_count, "operation"), counted(count, "rank")
    title = f"{operations} of {ranks}, {format_seconds(found.step_s)} each"
    notes = [Text(note, style="dim") for note in found.notes]
    if not found.findings:
        return Group(Text(f"{title}: nothing is wrong.", style="green"), *notes)
    shown = table("cause", "where", "costs a step", "planner gains", title=title, left=("cause", "where"))
    for one in found.findings:
        shown.add_row(str(one.cause), one.where, format_seconds(one.cost_s), _gain(one))
    lines = [Text(f"{one.cause}, {one.where}: {one.evidence}. {one.advice}") for one in found.findings]
    return Group(fitted(shown, dropped=("planner gains",)), *lines, *notes)


def _gain(one: Finding) -> str:
    return f"{format_seconds(one.gain_s)} ({one.schedule})" if one.schedule else "-"
