# SPDX-License-Identifier: Apache-2.0
"""`hemiola doctor`: this machine's resources, and how to get the missing ones."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from hemiola.cli import options
from hemiola.cli.output import answer, fitted, table
from hemiola.cli.truth import tell_truth
from hemiola.doctor import Finding, examine
from hemiola.errors import ArgumentError

_STYLES = {"ok": "green", "limited": "yellow", "missing": "dim", "broken": "bold red"}


def doctor(
    truth: Annotated[
        bool, typer.Option("--truth", help="Measure whether predictions hold here: a sample, in two minutes.")
    ] = False,
    everything: Annotated[
        bool,
        typer.Option("--all", help="With --truth: all 3,360 settings, in half an hour and more."),
    ] = False,
    seed: Annotated[
        int | None, typer.Option("--seed", help="With --truth: which sample; 0 unless said.", min=0)
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Show this machine's resources for Hemiola, and how to get the missing ones.

    Nothing is installed or changed. Exit code 1 where something that every run needs is broken.

    With --truth, run eight collectives of 4 KiB to 64 MiB on 2 to 8 local ranks instead, each setting twice. They run
    over shared memory, and over an emulated wire with nobody, the last rank late or the last rank slow. The table shows
    how far predicted times lie from measured ones. Ctrl-C prints the results so far. Exit code 1 where an
    element was wrong.

    Example: hemiola doctor --truth --seed 1
    """
    if truth:
        if not tell_truth(everything=everything, seed=seed or 0, as_json=as_json):
            raise typer.Exit(1)
        return
    if everything or seed is not None:
        raise ArgumentError("--all and --seed choose the settings of --truth; add --truth")
    findings = examine()
    answer(as_json, [asdict(finding) for finding in findings], _table(findings), _advice(findings))
    if any(finding.state == "broken" for finding in findings):
        raise typer.Exit(1)


def _table(findings: list[Finding]) -> RenderableType:
    shown = table("", "what", "for", "found", left=("", "what", "for", "found"))
    for finding in findings:
        state = Text(finding.state, style=_STYLES[finding.state])
        shown.add_row(state, finding.what, Text(finding.purpose, style="dim"), finding.found)
    return fitted(shown, dropped=("for",), wrapped=("for", "found"))


def _advice(findings: list[Finding]) -> RenderableType:
    advised = [finding for finding in findings if finding.advice]
    if not advised:
        return Text("Nothing to do: everything is here.")
    lines = [Text("What to do, if you want it:", style="bold")]
    lines += [Text(f"  {finding.what}: {finding.advice}") for finding in advised]
    return Group(*lines)
