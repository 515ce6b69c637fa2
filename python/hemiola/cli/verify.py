# SPDX-License-Identifier: Apache-2.0
"""`hemiola verify`: does a schedule keep its collective's promise, and if not, where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.text import Text

from hemiola._core import Schedule, Violation
from hemiola.algorithms.schedule_text import describe, slot_name
from hemiola.cli import options
from hemiola.cli.inputs import load_judged
from hemiola.cli.output import answer, counted, printable
from hemiola.cli.violations import violation_data
from hemiola.progress import ProgressBar
from hemiola.verify import verify as find_violations

if TYPE_CHECKING:
    from hemiola.interchange.artefact import Fault

#: Violations looked for per schedule; there may be more.
_VIOLATIONS_FOUND = 100
#: Violations printed per schedule, and transfers printed per violation, without and with --explain.
_VIOLATIONS_SHOWN, _VIOLATIONS_EXPLAINED, _TRANSFERS_SHOWN = 3, 50, 8


@dataclass(frozen=True)
class _Verdict:
    name: str
    schedule: Schedule
    violations: list[Violation | Fault]  #: the first of them
    has_more: bool


def verify(
    schedules: Annotated[
        list[str], typer.Argument(metavar="SCHEDULE...", help="Schedule files, or names of algorithms.")
    ],
    ranks: options.Ranks = None,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Show more violations, each with the transfers that touch its place."),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Prove that schedules are right, or name their faults.

    A file of MSCCL, MSCCL++, TE-CCL or TACOS is judged by its own run.

    Exit code 0 if all are correct, 1 if one is not, 2 if one cannot be read.
    """
    verdicts = []
    for name in schedules:
        schedule, faults = load_judged(name, ranks)
        found: list[Violation | Fault] = [*faults]
        if not faults:
            with ProgressBar(f"verifying {printable(name)}") as bar:
                found = [*find_violations(schedule, max_violations=_VIOLATIONS_FOUND + 1, progress=bar)]
        has_more = len(found) > _VIOLATIONS_FOUND
        verdicts.append(_Verdict(printable(name), schedule, found[:_VIOLATIONS_FOUND], has_more))
    answer(
        as_json,
        [_data(verdict) for verdict in verdicts],
        *(line for verdict in verdicts for line in _report(verdict, explain)),
    )
    if any(verdict.violations for verdict in verdicts):
        raise typer.Exit(1)


def _report(verdict: _Verdict, explain: bool) -> Iterator[Text]:
    schedule, violations = verdict.schedule, verdict.violations
    what = f"{schedule.collective.kind}, {describe(schedule)}"
    if not violations:
        yield Text.assemble(("correct  ", "bold green"), f"{verdict.name}: {what}")
        return
    count = f"{'more than ' if verdict.has_more else ''}{counted(len(violations), 'violation')}"
    yield Text.assemble(("wrong    ", "bold red"), f"{verdict.name}: {count} in {what}")
    shown = violations[: _VIOLATIONS_EXPLAINED if explain else _VIOLATIONS_SHOWN]
    for violation in shown:
        yield Text.assemble("         ", (violation.rule, "bold"), f": {violation.message}")
        if explain:
            yield from (Text(f"           {line}", style="dim") for line in _around(schedule, violation))
    if len(violations) > len(shown):
        hint = "" if explain else "; --explain shows more"
        at_least = "at least " if verdict.has_more else ""
        yield Text(f"         and {at_least}{len(violations) - len(shown):,} more{hint}", style="dim")


def _around(schedule: Schedule, violation: Violation | Fault) -> list[str]:
    """Return the transfers that write or read the violation's slot, in order, as lines."""
    rows = np.asarray(schedule.transfers)
    touching = rows[
        (rows["chunk"] == violation.chunk)
        & ((rows["src"] == violation.rank) | (rows["dst"] == violation.rank))
    ]
    lines = []
    for step, src, dst, _, reduce, *slots in touching[:_TRANSFERS_SHOWN].tolist():
        of_src, of_dst = slots or (0, 0)
        does = "adds its chunk into" if reduce else "copies its chunk over"
        lines.append(f"step {step}: rank {slot_name(src, of_src)} {does} rank {slot_name(dst, of_dst)}'s")
    if len(touching) > _TRANSFERS_SHOWN:
        lines.append(f"and {len(touching) - _TRANSFERS_SHOWN:,} more transfers of this chunk at this rank")
    return lines


def _data(verdict: _Verdict) -> dict[str, Any]:
    schedule = verdict.schedule
    return {
        "schedule": verdict.name,
        "collective": schedule.collective.kind,
        "rank_count": schedule.rank_count,
        "chunk_count": schedule.chunk_count,
        "step_count": schedule.step_count,
        "transfer_count": schedule.transfer_count,
        "is_correct": not verdict.violations,
        "violations": [violation_data(violation) for violation in verdict.violations],
        "has_more_violations": verdict.has_more,
    }
