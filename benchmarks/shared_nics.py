# SPDX-License-Identifier: Apache-2.0
"""Ranks that share a NIC: two on each of four hosts at 200 Mbit/s, placed node by node and round-robin.

`hemiola calibrate` measures the network, all-reduces are planned on what it wrote, and the flat ring takes turns with
them. Goals: measured at least 0.9 of the ratio that the simulator finds on the same topology; what the wire counts in
and out of each NIC is what the schedule says, to the byte; of large sizes every NIC carries as much as every other, and
the interfaces count at most 5 % more. Of 8 nodes of 8 ranks and 4 NICs the simulator says what each NIC carries.
"""

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

import numpy as np
from rich.console import Console
from rich.progress import Progress

import hemiola as hm
import history
from hemiola.cli.output import table
from hemiola.cluster import Cluster
from hemiola.machine.capacity import describe_machine
from hemiola.units import format_bytes
from meeting import run_job

RANK_SCRIPT = Path(__file__).resolve().parent / "shared_nics_rank.py"
HOSTS, RANKS_PER_HOST, RATE = 4, 2, "200mbit"
RANKS = HOSTS * RANKS_PER_HOST
SIZES = (4 << 10, 64 << 10, 64 << 20)
#: By name, on which host a rank is.
PLACEMENTS = {
    "node by node": [rank // RANKS_PER_HOST for rank in range(RANKS)],
    "round-robin": [rank % HOSTS for rank in range(RANKS)],
}
LEAST_OF_SIMULATED = 0.9
MOST_OF_PAYLOAD = 1.05


def calibrated(
    cluster: Cluster, hosts: Sequence[int], folder: Path, per_host: int = RANKS_PER_HOST
) -> tuple[Path, float]:
    """Return the file that `hemiola calibrate` has written for that placement, and how long it took."""
    path = folder / "network.yaml"
    command = [sys.executable, "-m", "hemiola", "calibrate", "--json", "-o", str(path)]
    said = run_job(cluster, hosts, command, per_host)
    return path, json.loads(said[0])["seconds"]


def between_hosts(hosts: Sequence[int], by_pair: np.ndarray) -> list[tuple[int, int]]:
    """Return what goes out of each host's NIC and what comes in, of bytes by sender and receiver."""
    on = np.asarray(hosts)
    far = np.where(on[:, None] != on[None, :], by_pair, 0)
    return [(int(far[on == host].sum()), int(far[:, on == host].sum())) for host in range(max(hosts) + 1)]


def scheduled(schedule: hm.Schedule, nbytes: int) -> np.ndarray:
    """Return the bytes that a schedule moves, by sender and receiver, where its chunks are whole elements."""
    weights = np.asarray(schedule.chunk_weights)
    of_chunk = nbytes * weights / weights.sum()
    rows = np.asarray(schedule.transfers)
    by_pair = np.zeros((schedule.rank_count, schedule.rank_count))
    np.add.at(by_pair, (rows["src"], rows["dst"]), of_chunk[rows["chunk"]])
    return np.rint(by_pair).astype(np.int64)


def compared(
    network: hm.Topology, hosts: Sequence[int], size: int, figures: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return one size's row: measured and simulated seconds and their ratios, and what the NICs have carried."""
    ring = hm.algorithms.all_reduce_ring(RANKS)
    planned = hm.plan(network, "all_reduce", size)
    simulated = {
        "planned": hm.simulate(planned.schedule, network, size).seconds,
        "ring": hm.simulate(ring, network, size).seconds,
    }
    rounds = range(len(figures[0]["spans"]["ring"]))
    seconds = {
        name: [
            (max(f["spans"][name][r][1] for f in figures) - max(f["spans"][name][r][0] for f in figures))
            / figures[0]["repeats"]
            for r in rounds
        ]
        for name in simulated
    }
    ratios = [seconds["ring"][r] / seconds["planned"][r] for r in rounds]
    carried = [each["traffic"]["planned"] for each in figures]
    counted = between_hosts(hosts, np.array([each["sent"] for each in carried]))
    came = between_hosts(hosts, np.array([each["received"] for each in carried]).T)
    said = between_hosts(hosts, scheduled(planned.schedule, size))
    on_interfaces = [carried[hosts.index(host)]["interface"] for host in range(HOSTS)]
    return {
        "bytes": size,
        "algorithm": planned.explain().split(" is chosen")[0].rsplit(". ", 1)[-1],
        "planned_s": statistics.median(seconds["planned"]),
        "ring_s": statistics.median(seconds["ring"]),
        "ratio": statistics.median(ratios),
        "ratios": ratios,
        "simulated_s": simulated["planned"],
        "simulated_ratio": simulated["ring"] / simulated["planned"],
        "nics": counted,
        "interfaces_over_payload": float(np.max(np.array(on_interfaces) / np.array(counted))),
        "wrong": sum(f["wrong"] for f in figures),
        "is_to_the_byte": counted == came == said,
        "is_even": len({nbytes for nic in counted for nbytes in nic}) == 1,
    }


def placed(
    cluster: Cluster, name: str, rounds: int, sizes: Sequence[int], progress: Progress
) -> Iterator[dict[str, Any]]:
    """Measure one placement."""
    hosts = PLACEMENTS[name]
    task = progress.add_task(name, total=3)
    with tempfile.TemporaryDirectory() as folder:
        path, calibration_s = calibrated(cluster, hosts, Path(folder))
        progress.advance(task)
        network = hm.Topology.load(path)
        command = [sys.executable, str(RANK_SCRIPT), str(path), str(rounds), *map(str, sizes)]
        figures = [json.loads(line) for line in run_job(cluster, hosts, command, RANKS_PER_HOST)]
        progress.advance(task)
    for size in sizes:
        row = compared(network, hosts, size, [each[str(size)] for each in figures])
        yield {"placement": name, "calibration_s": calibration_s, **row}
    progress.advance(task)


def simulated_nics() -> dict[str, Any]:
    """Return what the 32 NICs of 8 nodes carry in the planned all-reduce of 64 MiB, as the simulator has it."""
    nodes, ranks, nics, nbytes = 8, 8, 4, 64 << 20
    network = hm.topologies.hosts(
        nodes, ranks, nics, latency_s=2e-6, bandwidth=100e9, nic_latency_s=5e-6, nic_bandwidth=25e9
    )  # fmt: skip
    schedule = hm.plan(network, "all_reduce", nbytes).schedule
    links = network.links
    carried = hm.simulate(schedule, network, nbytes).link_busy_s * links["bandwidth"]
    is_outer = np.minimum(links["src"], links["dst"]) >= network.rank_count
    found = [tuple(round(carried[link]) for link in nic if is_outer[link]) for _, _, nic in network.nics]
    least = 2 * (nodes - 1) / nodes * nbytes / nics
    return {
        "placement": f"{nodes} nodes of {ranks} ranks and {nics} NICs, simulated",
        "bytes": nbytes,
        "nics": sorted(set(found)),
        "least": least,
        "is_even": {nbytes for nic in found for nbytes in nic} == {least},
    }


def is_met(row: dict[str, Any]) -> bool:
    """Return whether a row reaches its goals."""
    if "ratio" not in row:
        return bool(row["is_even"])
    is_large = row["bytes"] >= 1 << 20
    return bool(
        row["wrong"] == 0
        and row["is_to_the_byte"]
        and row["ratio"] >= LEAST_OF_SIMULATED * row["simulated_ratio"]
        and (not is_large or (row["is_even"] and row["interfaces_over_payload"] <= MOST_OF_PAYLOAD))
    )


def show(rows: Sequence[dict[str, Any]], console: Console) -> None:
    """Print the rows as a table."""
    measured = [row for row in rows if "ratio" in row]
    shown = table(
        "placement", "size", "algorithm", "ms", "ring ms", "times", "simulated", "interface", "to the byte", "goal",
        left=("placement", "algorithm"), title=describe_machine(),
    )  # fmt: skip
    for row in measured:
        shown.add_row(
            row["placement"],
            format_bytes(row["bytes"]),
            row["algorithm"],
            f"{1e3 * row['planned_s']:.3g}",
            f"{1e3 * row['ring_s']:.3g}",
            f"{row['ratio']:.2f}",
            f"{row['simulated_ratio']:.2f}",
            f"{row['interfaces_over_payload']:.3f}",
            "yes" if row["is_to_the_byte"] else "no",
            "met" if is_met(row) else "MISSED",
        )
    console.print(shown)
    for row in rows:
        if "ratio" not in row:
            console.print(
                f"{row['placement']}: NICs carry {row['nics']} bytes, {'met' if is_met(row) else 'MISSED'}"
            )
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    console.print(f"load at the end {load}")


def main() -> int:
    """Measure, print; exit status 1 if an element was wrong or a goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="of large sizes; of small ones 15")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--json", action="store_true", help="print JSON lines instead of a table")
    history.add_option(parser)
    options = parser.parse_args()
    rows = [simulated_nics()]
    with Progress(console=Console(stderr=True)) as progress:
        for name in PLACEMENTS:
            with Cluster(HOSTS, rate=RATE) as cluster:
                rows += placed(cluster, name, options.rounds, options.sizes, progress)
    return history.conclude(options, rows, show, is_met)


if __name__ == "__main__":
    sys.exit(main())
