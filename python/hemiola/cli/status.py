# SPDX-License-Identifier: Apache-2.0
"""`hemiola status`: the running jobs of this machine, and who has come to one and gone."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from hemiola.cli import options
from hemiola.cli.output import answer, console, counted, fitted, printable, table
from hemiola.communicator.epochs import Epoch
from hemiola.communicator.status import JobStatus, running_jobs, status_at, status_of
from hemiola.errors import ArgumentError
from hemiola.units import format_seconds

#: The latest epochs that are printed.
_EPOCHS_SHOWN = 20
_ANSWER_S, _BETWEEN_LOOKS_S = 5.0, 0.2


def status(
    job: Annotated[
        str | None,
        typer.Argument(
            metavar="JOB",
            help="The name at which the job's ranks met, or HEMIOLA_JOB of a job of 'hemiola launch'. Without one, all "
            "running jobs are listed.",
        ),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on with a line for each change, until the job is over.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Show a running job of this machine: its members, and who came, left or was lost, when and why.

    The job's first rank answers, from a thread of its own; no rank stops for it. Without JOB, all running jobs of this
    user are listed. With --watch, JOB may be left out where only one runs.

    Examples: hemiola status; hemiola status "my job" --watch
    """
    if watch and as_json:
        raise ArgumentError("--watch prints lines as changes happen, --json one document; leave one out")
    silent: dict[str, str] = {}
    if job is None:
        jobs, silent = running_jobs(_ANSWER_S)
    else:
        jobs = [status_of(job, _ANSWER_S)]
    if watch and len(jobs) != 1:
        names = f": {', '.join(repr(each.name) for each in jobs)}" if jobs else ""
        raise ArgumentError(f"--watch shows one job, and {len(jobs)} run here{names}; say which")
    data = {
        "jobs": [each.as_dict() for each in jobs],
        "silent": [{"name": printable(name), "reason": reason} for name, reason in silent.items()],
    }
    parts = [_listed(jobs, silent)] if job is None and not watch else _told(jobs[0])
    answer(as_json, data, *parts)
    if watch:
        _watch(jobs[0])


def _listed(jobs: list[JobStatus], silent: dict[str, str]) -> RenderableType:
    if not jobs and not silent:
        return Text("No job of this user runs on this machine.")
    shown = table("job", "ranks", "epoch", "since", "latest change", left=("job", "latest change"))
    for each in jobs:
        last = each.epochs[-1]
        shown.add_row(
            printable(each.name), str(len(last.ranks)), str(last.number), _ago(last), Text(str(last))
        )
    for name, reason in silent.items():
        shown.add_row(printable(name), "-", "-", "-", Text(reason, style="yellow"))
    return fitted(shown, wrapped=("latest change",))


def _told(job: JobStatus) -> list[RenderableType]:
    last = job.epochs[-1]
    title = Text(f"Job '{printable(job.name)}': {counted(len(last.ranks), 'rank')} in epoch {last.number}")
    title.append(f", for {_ago(last)}")
    members = ", ".join(
        f"{rank} (process {job.processes[rank]})" if rank in job.processes else str(rank)
        for rank in last.ranks
    )
    door = f"It lets nobody in: {job.refusal}." if job.refusal else "Newcomers may join."
    parts: list[RenderableType] = [title, Text(f"Ranks: {members}"), Text(door)]
    if job.ended:
        ended = ", ".join(map(str, job.ended))
        parts.append(Text(f"Ended, and still counted by the others: {ended}", style="yellow"))
    shown = table("epoch", "began", "ranks", "took", "what happened", left=("began", "what happened"))
    for epoch in job.epochs[-_EPOCHS_SHOWN:]:
        shown.add_row(*_row(epoch))
    parts.append(fitted(shown, dropped=("took",), wrapped=("what happened",)))
    hidden = job.epochs[-1].number + 1 - min(_EPOCHS_SHOWN, len(job.epochs))
    if hidden:
        parts.append(Text(f"and {counted(hidden, 'epoch')} before", style="dim"))
    parts.append(
        Text(
            f"{counted(job.joins, 'rank')} joined, {job.leaves:,} left, {job.losses:,} lost since the job began"
        )
    )
    return parts


def _row(epoch: Epoch) -> tuple[str, str, str, str, Text]:
    began = datetime.fromtimestamp(epoch.at_s).strftime("%Y-%m-%d %H:%M:%S")
    took = format_seconds(epoch.took_s) if epoch.took_s else "-"
    return str(epoch.number), began, str(len(epoch.ranks)), took, Text(printable(str(epoch)))


def _ago(epoch: Epoch) -> str:
    seconds = max(0, round(time.time() - epoch.at_s))
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{seconds} s"
    return f"{minutes} min" if minutes < 120 else f"{hours} h" if hours < 48 else f"{days} d"


def _watch(job: JobStatus) -> None:
    """Print a line per change until all processes of the job have ended; while its first rank is gone, wait."""
    shown = job.epochs[-1].number
    while (present := status_at(job.name, _ANSWER_S)) is not None or not job.is_over:
        job = present or job
        for epoch in job.epochs:
            if epoch.number > shown:
                number, began, ranks, took, what = _row(epoch)
                console().print(Text(f"{began} epoch {number}, {ranks} ranks, {took}: {what}"))
        shown = max(shown, job.epochs[-1].number)
        time.sleep(_BETWEEN_LOOKS_S)
    console().print(Text(f"Job '{printable(job.name)}' is over."))
