"""`hemiola doctor`: what this machine has, and what to do about what it has not."""

from __future__ import annotations

from dataclasses import asdict

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from hemiola.cli import options
from hemiola.cli.output import answer, fitted, table
from hemiola.doctor import Finding, examine

_STYLES = {"ok": "green", "limited": "yellow", "missing": "dim", "broken": "bold red"}


def doctor(as_json: options.Json = False) -> None:
    """Say what this machine offers Hemiola, and what to do about what is not there.

    Nothing is installed or changed. Exit code 1 where something that every run needs is broken.
    """
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
