# SPDX-License-Identifier: Apache-2.0
"""Collectives between hosts, beside PyTorch's Gloo, Open MPI (its default and its ring), MPICH and UCC in the same run.

Hosts are network namespaces of this machine whose NICs are limited both ways (`hemiola cluster`), a rank on each.
Contenders take turns, and those whose turn it is not are stopped. Every buffer is written before it is timed, and each
contender's result is compared with the right one, element by element, before it is measured. Times are compared with
what a NIC must carry at least, over its goodput: of 1,514 bytes on the wire TCP carries 1,448.

Each row has a goal, and is reported as missed where it is: `--only ROW …` measures some of them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

import history
from contenders import present
from hemiola.cluster import Cluster
from hemiola.whole_file import write_whole
from network_contenders import PEERS, contenders
from network_report import Measured, merged, page, show
from network_rows import (
    Bench,
    all_gather,
    all_reduce,
    late,
    patterns,
    reduce_scatter,
    slow_nic,
    small,
    traffic,
)

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"
_LIMITED = ((4, "300mbit"), (8, "200mbit"))


@dataclass(frozen=True)
class Row:
    """What is measured, on which clusters (hosts and rate of their NICs), and beside whom."""

    measure: Callable[[Bench], list[Measured]]
    clusters: Sequence[tuple[int, str | None]]
    peers: Sequence[str]


_WITHOUT_RING = ("gloo", "openmpi", "mpich", "ucc")  # which is an all-reduce's
ROWS = {
    "all_reduce": Row(all_reduce, _LIMITED, PEERS),
    "all_gather": Row(all_gather, _LIMITED, _WITHOUT_RING),
    "reduce_scatter": Row(reduce_scatter, _LIMITED, _WITHOUT_RING),
    "slow_nic": Row(slow_nic, _LIMITED[1:], ("gloo",)),
    "late": Row(late, _LIMITED[1:], ("gloo",)),
    "patterns": Row(patterns, _LIMITED, ()),
    "traffic": Row(traffic, _LIMITED[1:], ("gloo", "mpich")),
    "small": Row(small, ((2, None), (8, None)), PEERS),
}


def measure(options: argparse.Namespace, progress: Progress) -> Iterator[list[Measured]]:
    """Measure the rows that were asked for, cluster by cluster."""
    for hosts, rate in sorted({cluster for name in options.only for cluster in ROWS[name].clusters}, key=str):
        rows = [name for name in options.only if (hosts, rate) in ROWS[name].clusters]
        if hosts not in options.hosts:
            continue
        peers = [peer for peer in present(options.peers) if any(peer in ROWS[name].peers for name in rows)]
        with ExitStack() as stack:
            cluster = stack.enter_context(Cluster(hosts, rate=rate))
            started = stack.enter_context(contenders(cluster, ["hemiola", *peers]))
            for name in rows:
                beside = {c: started[c] for c in started if c == "hemiola" or c in ROWS[name].peers}
                yield ROWS[name].measure(
                    Bench(cluster, rate, beside, options.sizes, options.rounds, progress)
                )


def report(found: Sequence[Measured], folder: Path) -> None:
    """Write the page of results, and beside it the figures that it is made of; other rows stay as they were."""
    figures = folder / "network" / "measured.jsonl"
    known = []
    if figures.exists():
        known = [Measured.from_dict(json.loads(line)) for line in figures.read_text().splitlines()]
    kept = merged(known, found)
    figures.parent.mkdir(parents=True, exist_ok=True)
    write_whole(figures, "".join(json.dumps(one.as_dict()) + "\n" for one in kept))
    write_whole(folder / "network.md", page(kept, "python benchmarks/network.py --report"))


def main() -> int:
    """Measure, print, write JSON lines; exit status 1 if an element was wrong or a goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=list(ROWS), default=list(ROWS), metavar="ROW")
    parser.add_argument("--hosts", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--sizes", type=int, nargs="+", default=[16 << 20, 64 << 20])
    parser.add_argument("--rounds", type=int, help="of each row; otherwise as many as it needs")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--json", action="store_true", help="print JSON lines instead of a table")
    parser.add_argument(
        "--report",
        type=Path,
        nargs="?",
        const=RESULTS,
        metavar="FOLDER",
        help="rewrite network.md with these rows",
    )
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "benchmarks" / "network.jsonl")
    history.add_option(parser)
    options = parser.parse_args()
    found: list[Measured] = []
    lines = ""
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with Progress(console=Console(stderr=True)) as progress:
        for rows in measure(options, progress):  # what is there stays there, whatever comes next
            found += rows
            lines = "".join(json.dumps(row.as_dict()) + "\n" for row in found)
            write_whole(options.out, lines)
            if options.report:
                report(rows, options.report)
    history.record(options, [row.as_dict() for row in found])
    if options.json:
        print(lines, end="")
    else:
        show(found, Console(width=120))
    return 0 if all(row.is_right and row.is_met for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
