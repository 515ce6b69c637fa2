# SPDX-License-Identifier: Apache-2.0
"""All-to-alls whose blocks differ: 4 hosts of 2 ranks, 4 MiB a rank on average, 200 Mbit/s between hosts.

A rank's blocks have shares of 1, 1/2^z, 1/3^z, …, in an order of its own, and ranks have 0.5 to 1.5 times as much as
each other. Three exchanges take turns: each block directly, the plan for the table of sizes, and the call's own choice.
Hosts are network namespaces with one NIC each, on the network that `hemiola calibrate` has measured; or emulated, with
a NIC for each rank. Goals: measured at least 0.9 of the ratio that the simulator finds; the call's own choice takes at
most 1.1 of the plan's time.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

import hemiola as hm
import history
from hemiola.algorithms.block_sizes import BlockSizes
from hemiola.cli.output import table
from hemiola.cluster import Cluster
from hemiola.machine.capacity import describe_machine
from meeting import run_job
from shared_nics import HOSTS, RANKS, RANKS_PER_HOST, RATE, calibrated
from skewed_exchange_rank import emulated

RANK_SCRIPT = Path(__file__).resolve().parent / "skewed_exchange_rank.py"
SKEWS = {"mild": 0.6, "Zipf 1.2": 1.2}
LEAST_OF_SIMULATED, MOST_OF_PLAN = 0.9, 1.1
#: Of NICs, bytes a second of payload at RATE.
PAYLOAD = 23.9e6


def skewed(zipf: float, seed: int, nbytes: int) -> np.ndarray:
    """Return a table of block sizes, `nbytes` a rank on average."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, RANKS + 1) ** zipf
    sizes = np.stack([rng.permutation(share) * rng.uniform(0.5, 1.5) for _ in range(RANKS)])
    np.fill_diagonal(sizes, 0)
    found: np.ndarray = (sizes / sizes.sum() * RANKS * nbytes).astype(np.int64)
    return found


class Exchanges:
    """The schedules of all tables on one network, as files for its ranks."""

    def __init__(self, network: hm.Topology, asked: argparse.Namespace, folder: Path) -> None:
        self.paths: list[str] = []
        self._rows: list[dict[str, Any]] = []
        for skew, zipf in SKEWS.items():
            for seed in range(1, asked.seeds + 1):
                sizes = BlockSizes.of(skewed(zipf, seed, asked.size), RANKS)
                plan = hm.plan(network, "all_to_all", sizes.table)
                direct = sizes.given_to(hm.algorithms.get("all_to_all_direct").generate(RANKS))
                for schedule in (direct, plan.schedule):
                    self.paths.append(str(folder / f"{len(self.paths)}.sched"))
                    schedule.save(self.paths[-1])
                direct_s = hm.simulate(direct, network, sizes.per_rank).seconds
                self._rows.append(
                    {
                        "skew": skew,
                        "seed": seed,
                        "simulated_ratio": direct_s / plan.seconds,
                        "planned_over_bound": plan.seconds / plan.bound_s,
                    }
                )

    def rows(self, network: str, figures: Sequence[Sequence[dict[str, Any]]]) -> Iterator[dict[str, Any]]:
        """Join each table's row with what its ranks have measured."""
        for row, by_rank in zip(self._rows, zip(*figures, strict=True), strict=True):
            spans = np.array([each["spans"] for each in by_rank])  # rank, way, round, beginning and end
            chosen, direct, planned = (spans[..., 1].max(axis=0) - spans[..., 0].max(axis=0)).tolist()
            ratios = [a / b for a, b in zip(direct, planned, strict=True)]
            yield row | {
                "network": network,
                "direct_s": statistics.median(direct),
                "planned_s": statistics.median(planned),
                "chosen_s": statistics.median(chosen),
                "ratio": statistics.median(ratios),
                "ratios": ratios,
                "wrong": sum(each["wrong"] for each in by_rank),
            }


def on_one_nic(asked: argparse.Namespace, folder: Path) -> Iterator[dict[str, Any]]:
    """Measure between namespaces, whose ranks share a NIC."""
    hosts = [rank // RANKS_PER_HOST for rank in range(RANKS)]
    with Cluster(HOSTS, rate=RATE) as cluster:
        path, _ = calibrated(cluster, hosts, folder)
        exchanges = Exchanges(hm.Topology.load(path), asked, folder)
        command = [sys.executable, str(RANK_SCRIPT), str(path), str(asked.rounds), *exchanges.paths]
        said = run_job(cluster, hosts, command, RANKS_PER_HOST)
    yield from exchanges.rows("one NIC a host", [json.loads(line) for line in said])


def on_own_nics(asked: argparse.Namespace, folder: Path) -> Iterator[dict[str, Any]]:
    """Measure on an emulated network, on which each rank has a NIC."""
    network = hm.topologies.hosts(
        HOSTS, RANKS_PER_HOST, RANKS_PER_HOST,
        latency_s=10e-6, bandwidth=1e9, nic_latency_s=100e-6, nic_bandwidth=PAYLOAD,
    )  # fmt: skip
    exchanges = Exchanges(network, asked, folder)
    figures = hm.launch(emulated, RANKS, asked.rounds, exchanges.paths, emulate=network, timeout_s=600)
    yield from exchanges.rows("a NIC a rank, emulated", figures)


def is_met(row: dict[str, Any]) -> bool:
    """Return whether a row reaches its goals."""
    is_fast = row["ratio"] >= LEAST_OF_SIMULATED * row["simulated_ratio"]
    return bool(row["wrong"] == 0 and is_fast and row["chosen_s"] <= MOST_OF_PLAN * row["planned_s"])


def show(rows: Sequence[dict[str, Any]], console: Console) -> None:
    """Print the rows as a table."""
    shown = table(
        "network", "skew", "seed", "direct ms", "planned ms", "call's choice ms", "times", "spread", "simulated",
        "goal", left=("network", "skew"), title=describe_machine(),
    )  # fmt: skip
    for row in rows:
        shown.add_row(
            row["network"],
            row["skew"],
            str(row["seed"]),
            *(f"{1e3 * row[f'{way}_s']:.0f}" for way in ("direct", "planned", "chosen")),
            f"{row['ratio']:.2f}",
            f"{min(row['ratios']):.2f}-{max(row['ratios']):.2f}",
            f"{row['simulated_ratio']:.2f}",
            "met" if is_met(row) else "MISSED",
        )
    console.print(shown)


def main() -> int:
    """Measure, print; exit status 1 if a block was wrong or a goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=3, help="tables of each skew")
    parser.add_argument("--size", type=int, default=4 << 20, help="bytes a rank, on average")
    parser.add_argument("--json", action="store_true", help="print JSON lines instead of a table")
    history.add_option(parser)
    asked = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for measure in (on_one_nic, on_own_nics):
        with tempfile.TemporaryDirectory() as folder:
            rows += measure(asked, Path(folder))
    return history.conclude(asked, rows, show, is_met)


if __name__ == "__main__":
    sys.exit(main())
