# SPDX-License-Identifier: Apache-2.0
"""`python -m papers PAPER`, in a clone of Hemiola: makes a paper's tables and figures again."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from hemiola.cli.output import answer
from hemiola.errors import HemiolaError
from papers import ROOT, optcc, pccl, spccl, stragglar, tacos, workloads
from papers.tacos import scale

_ALL = (optcc.PAPER, pccl.PAPER, spccl.PAPER, stragglar.PAPER, tacos.PAPER, workloads.PAPER)
PAPERS = {paper.name: paper for paper in _ALL}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write a report, or renew a section of it; return the exit status, 2 where something is missing or wrong."""
    wanted = _parser().parse_args(arguments)
    try:
        if wanted.big:
            scale.measure_large(scale.record_in(wanted.out))
        report = PAPERS[wanted.paper].reproduce(wanted.out, only=wanted.only)
    except HemiolaError as error:
        print(f"papers: {error}", file=sys.stderr)
        return 2
    answer(wanted.json, report.data, f"wrote {report.path}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m papers",
        description="Make a paper's tables and figures again, each beside Hemiola's schedule and the lower bound.",
    )
    papers = parser.add_subparsers(dest="paper", required=True, metavar="PAPER")
    for paper in PAPERS.values():
        one = papers.add_parser(paper.name, help=paper.takes, description=f"All sections take {paper.takes}.")
        one.add_argument(
            "--out", type=Path, default=ROOT / "docs/results", help="folder for the report and its pictures"
        )
        one.add_argument(
            "--only",
            default="",
            choices=paper.sections,
            metavar="SECTION",
            help=f"renew one section of the report that is there: {', '.join(paper.sections)}",
        )
        one.add_argument(
            "--json", action="store_true", help="print the report's figures as one JSON document"
        )
        one.set_defaults(big=False)
        if paper is tacos.PAPER:
            one.add_argument(
                "--big",
                action="store_true",
                help="measure networks of up to 43,000 ranks, too; 15 minutes, 6 GB on disk",
            )
    return parser


if __name__ == "__main__":
    sys.exit(main())
