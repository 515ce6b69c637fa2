# SPDX-License-Identifier: Apache-2.0
"""What collectives between hosts take, over what the simulator says on the topology that `hemiola calibrate` wrote.

Hosts are network namespaces of this machine whose NICs are limited both ways: 4 at 300 Mbit/s and 8 at 200 Mbit/s with
a rank on each, and 4 at 200 Mbit/s with two. All-reduces, all-gathers and reduce-scatters as planned, checked, medians
of rounds. Goal: every row from 64 KiB on within 10 %.

    python benchmarks/measured_over_simulated.py [--rounds 5] [--sizes BYTES …] [--json]

Exit code 1 where a row is not."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

import history
from hemiola.cli.output import table
from hemiola.cluster import Cluster
from hemiola.machine.capacity import describe_machine
from hemiola.units import format_bytes
from meeting import run_job
from shared_nics import calibrated

RANK_SCRIPT = Path(__file__).resolve().parent / "measured_over_simulated_rank.py"
#: Hosts, ranks on each, rate of their NICs.
CLUSTERS = ((4, 1, "300mbit"), (8, 1, "200mbit"), (4, 2, "200mbit"))
SIZES = (64 << 10, 1 << 20, 16 << 20, 64 << 20)
CLOSE = 0.1


def measure(hosts: int, per_host: int, rate: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Measure all rows of one cluster."""
    placement = [rank // per_host for rank in range(hosts * per_host)]
    with Cluster(hosts, rate=rate) as cluster, tempfile.TemporaryDirectory() as folder:
        path, _ = calibrated(cluster, placement, Path(folder), per_host)
        command = [sys.executable, str(RANK_SCRIPT), str(path), str(options.rounds), *map(str, options.sizes)]
        figures = [json.loads(line) for line in run_job(cluster, placement, command, per_host)]
    for name, first in figures[0].items():
        rows = [each[name] for each in figures]
        times = [
            (max(row["spans"][r][1] for row in rows) - max(row["spans"][r][0] for row in rows))
            / first["repeats"]
            for r in range(options.rounds)
        ]
        kind, size = name.split()
        yield {
            "hosts": hosts,
            "ranks_per_host": per_host,
            "rate": rate,
            "kind": kind,
            "bytes": int(size),
            "planned": first["planned"],
            "seconds": statistics.median(times),
            "least_s": min(times),
            "most_s": max(times),
            "simulated_s": first["simulated_s"],
            "ratio": statistics.median(times) / first["simulated_s"],
            "wrong": sum(row["wrong"] for row in rows),
        }


def is_met(row: dict[str, Any]) -> bool:
    """Return whether a row is right, and as close as it should be."""
    return bool(row["wrong"] == 0 and abs(row["ratio"] - 1) <= CLOSE)


def show(rows: Sequence[dict[str, Any]], console: Console) -> None:
    """Print the rows as a table."""
    shown = table(
        "hosts × ranks", "collective", "size", "planned", "ms (least-most)", "simulated", "ratio", "",
        left=("hosts × ranks", "collective", "planned"),
    )  # fmt: skip
    for row in rows:
        shown.add_row(
            f"{row['hosts']} × {row['ranks_per_host']}, {row['rate']}",
            row["kind"],
            format_bytes(row["bytes"]),
            row["planned"],
            f"{1e3 * row['seconds']:.4g} ({1e3 * row['least_s']:.4g}-{1e3 * row['most_s']:.4g})",
            f"{1e3 * row['simulated_s']:.4g}",
            f"{row['ratio']:.3f}",
            "met" if is_met(row) else "MISSED",
        )
    console.print(shown)


def main() -> int:
    """Measure, print, and say by the exit code whether all rows are close."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--json", action="store_true", help="print JSON lines instead of a table")
    history.add_option(parser)
    options = parser.parse_args()
    begin_load = os.getloadavg()[0]
    rows: list[dict[str, Any]] = []
    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("clusters", total=len(CLUSTERS))
        for cluster in CLUSTERS:
            rows += measure(*cluster, options)
            progress.advance(task)

    def shown(rows: Sequence[dict[str, Any]], console: Console) -> None:
        show(rows, console)
        load = f"load {begin_load:.1f} to {os.getloadavg()[0]:.1f}"
        console.print(f"{describe_machine()}; {load}", highlight=False)

    return history.conclude(options, rows, shown, is_met)


if __name__ == "__main__":
    sys.exit(main())
