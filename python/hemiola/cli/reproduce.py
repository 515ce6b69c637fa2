"""`hemiola reproduce`: the papers' tables and figures again, from this project's own runs and simulations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hemiola.cli import options
from hemiola.cli.output import answer
from hemiola.errors import ArgumentError
from hemiola.reproduce import optcc, pccl, spccl, stragglar, tacos
from hemiola.reproduce.tacos import scale

_PAPERS = {
    paper.name: paper for paper in (optcc.PAPER, pccl.PAPER, spccl.PAPER, stragglar.PAPER, tacos.PAPER)
}
_KNOWN = ", ".join(f"{name} ({paper.takes})" for name, paper in _PAPERS.items())
_SECTIONS = "; ".join(f"{name}: {', '.join(paper.sections)}" for name, paper in _PAPERS.items())


def reproduce(
    paper: Annotated[str, typer.Argument(help=f"One of: {_KNOWN}.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the report and its pictures.")] = Path(
        "docs/results"
    ),
    only: Annotated[
        str, typer.Option("--only", help=f"Renew one section of the report that is there. {_SECTIONS}.")
    ] = "",
    big: Annotated[
        bool,
        typer.Option(
            "--big", help="tacos: measure networks of up to 43,000 ranks; 15 minutes, 6 GB on disk."
        ),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Regenerate a paper's tables and figures, each beside Hemiola's schedule and the lower bound."""
    if paper not in _PAPERS:
        raise ArgumentError(f"expected a paper ({', '.join(_PAPERS)}), found '{paper}'")
    if big and paper != "tacos":
        raise ArgumentError(f"--big is for tacos, found it with '{paper}'")
    if big:
        scale.measure_large(scale.record_in(out))
    report = _PAPERS[paper].reproduce(out, only=only)
    answer(as_json, report.data, f"wrote {report.path}")
