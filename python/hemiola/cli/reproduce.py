"""`hemiola reproduce`: the papers' tables and figures again, from this project's own runs and simulations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hemiola.cli import options
from hemiola.cli.output import answer
from hemiola.errors import ArgumentError
from hemiola.reproduce import optcc, stragglar, tacos

_PAPERS = {"optcc": optcc.reproduce, "stragglar": stragglar.reproduce, "tacos": tacos.reproduce}


def reproduce(
    paper: Annotated[str, typer.Argument(help=f"One of: {', '.join(_PAPERS)}.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the report and its pictures.")] = Path(
        "docs/results"
    ),
    only: Annotated[
        str,
        typer.Option(
            "--only", help=f"tacos: renew one section of the report out of {', '.join(tacos.SECTIONS)}."
        ),
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
    if paper != "tacos" and (only or big):
        raise ArgumentError(f"--only and --big are for tacos, found them with '{paper}'")
    report = tacos.reproduce(out, only=only, big=big) if paper == "tacos" else _PAPERS[paper](out)
    answer(as_json, report.data, f"wrote {report.path}")
