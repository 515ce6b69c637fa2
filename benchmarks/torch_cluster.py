# SPDX-License-Identifier: Apache-2.0
"""PyTorch on a cluster that is not alike, beside gloo in the same run: hosts are namespaces of the network with NICs of
a limited rate (needs root, or a kernel on which users may make namespaces).

- slow_nic: 8 hosts at 50 Mbit/s, one NIC at half of it: all-reduces of a gradient of 8 MiB in DDP's buckets; at least
  1.5 times as fast as gloo.
- pruned: 8 hosts at 50 Mbit/s: a step of DDP with a GPT of 11 million parameters, of whose gradients each rank sends
  one element in a hundred (`PrunedGradients`); at least 5 times as fast as gloo's step with dense ones.
- late, late_buckets: 8 hosts at 50 Mbit/s, one rank late by 0 to 2 times the time of the gradient's reduce-scatter: a
  step of DDP with 4 MiB of gradients in one bucket, and in DDP's own; against this backend with late ranks switched off
  at least 1.08 times as fast in one bucket.
- fsdp2: 4 hosts of two ranks that share a NIC at 200 Mbit/s: all-gathers and reduce-scatters of a layer of that GPT as
  FSDP2 calls them, at least 1.15 times as fast as gloo's; and steps of FSDP2.

Contenders take turns, a round is one operation (late: six steps) of each; a time is the slowest rank's. Printed are
medians over the rounds with, in brackets, the least and most of a round's ratio, and the limit: what no schedule can
beat on NICs of that rate, less TCP's headers."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

import hemiola as hm
import history
from hemiola.cli.output import table
from hemiola.cluster import Cluster
from hemiola.machine.capacity import describe_machine
from hemiola.whole_file import write_whole
from network_rows import FRAME_BYTES, PAYLOAD_BYTES
from torch_cluster_ranks import LATE_PARAMETERS, LATENESS, Found
from torch_ddp_step import ALONE, Gpt

RANKS = Path(__file__).with_name("torch_cluster_ranks.py")
SLOW_HOST, SLOWER, GRADIENT_BYTES = 3, 2.0, 8 << 20
#: Of the switch between hosts, for limits.
LATENCY_S = 50e-6


def goodput(rate: str) -> float:
    """Return the payload in bytes per second that TCP can get of a NIC."""
    with Cluster(1, rate=rate) as cluster:
        found, _ = cluster.rates(0)
    assert found is not None
    return found * PAYLOAD_BYTES / FRAME_BYTES


@dataclass(frozen=True)
class Row:
    """What is measured on which cluster, against whom, how much faster it is to be, and its limit by what was timed."""

    ranks_do: str
    hosts: int
    rate: str
    baseline: str
    goals: Mapping[tuple[str, str], float]
    limits: Callable[[Row, Found], Mapping[str, float]]
    each: int = 1
    slow: Mapping[int, float] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def network(self) -> hm.Topology:
        """The hosts' NICs, for one rank each."""
        return hm.topologies.switch(self.hosts, latency_s=LATENCY_S, bandwidth=goodput(self.rate))


def slow_limit(row: Row, found: Found) -> dict[str, float]:
    slow = hm.Conditions(slow={SLOW_HOST: SLOWER})
    return {"all-reduces": hm.lower_bound(row.network, "all_reduce", GRADIENT_BYTES, slow).seconds}


def pruned_limit(row: Row, found: Found) -> dict[str, float]:
    """The step of PyTorch alone, and the bytes that came in one."""
    (received,) = found["bytes received in a step"]["hemiola, pruned"]
    return {"step": statistics.median(found["step"][ALONE]) + received / goodput(row.rate)}


def reduce_scatter_s(row: Row) -> float:
    return (row.hosts - 1) / row.hosts * 4 * LATE_PARAMETERS / goodput(row.rate)


def late_limit(row: Row, found: Found) -> dict[str, float]:
    """On average over the delays, of who is told."""
    network, unit_s, late = row.network, reduce_scatter_s(row), row.hosts - 1
    bounds = [
        hm.lower_bound(network, "all_reduce", 4 * LATE_PARAMETERS, hm.Conditions(late={late: each * unit_s}))
        for each in LATENESS
    ]
    return {"step": statistics.mean(bound.seconds for bound in bounds)}


def shared_nic_limit(row: Row, found: Found) -> dict[str, float]:
    """What the other hosts have of a layer."""
    layer_bytes = 4 * sum(each.numel() for each in Gpt().layers.layers[0].parameters())
    limit_s = (row.hosts - 1) / row.hosts * layer_bytes / goodput(row.rate)
    return {"all-gather": limit_s, "reduce-scatter": limit_s}


OFF = "hemiola, late ranks switched off"
ROWS = {
    "slow_nic": Row(
        "slow_nic",
        8,
        "50mbit",
        "gloo",
        {("all-reduces", "hemiola"): 1.5},
        slow_limit,
        slow={SLOW_HOST: SLOWER},
        options={"size": GRADIENT_BYTES // 4},
    ),
    "pruned": Row(
        "pruned",
        8,
        "50mbit",
        "gloo",
        {("step", "hemiola, pruned"): 5.0},
        pruned_limit,
        options={"batch": 4},
    ),
    "late": Row(
        "late", 8, "50mbit", OFF, {("step", "hemiola"): 1.08}, late_limit, options={"bucket_mb": 64.0}
    ),
    "late_buckets": Row("late", 8, "50mbit", OFF, {}, late_limit, options={"bucket_mb": None}),
    "fsdp2": Row(
        "fsdp2",
        4,
        "200mbit",
        "gloo",
        {("all-gather", "hemiola"): 1.15, ("reduce-scatter", "hemiola"): 1.15},
        shared_nic_limit,
        each=2,
        options={"batch": 4},
    ),
}


def run(row: Row, rounds: int) -> Found:
    """Run a row on a cluster of its own, and return the slowest rank's times."""
    options = {"rounds": rounds, **row.options}
    if row.ranks_do == "late":
        options["reduce_scatter_s"] = reduce_scatter_s(row)
    count = row.hosts * row.each
    with (
        tempfile.TemporaryDirectory(prefix="torch_cluster") as folder,
        Cluster(row.hosts, rate=row.rate, slow=row.slow) as cluster,
    ):
        started = []
        for host in range(row.hosts):
            words = [host * row.each, (host + 1) * row.each, count, json.dumps(options), folder]
            command = [sys.executable, str(RANKS), row.ranks_do, *map(str, words)]
            started.append(cluster.start(host, command, stdout=subprocess.DEVNULL))
        if any([each.wait() for each in started]):
            said = [path.read_text().strip() for path in sorted(Path(folder).glob("*.log"))]
            sys.exit("\n\n".join(words[-2000:] for words in said if words))
        ranks = [json.loads((Path(folder) / f"{rank}.json").read_text()) for rank in range(count)]
    return {
        what: {
            name: [max(each) for each in zip(*(rank[what][name] for rank in ranks), strict=True)]
            for name in times
        }
        for what, times in ranks[0].items()
    }


def over(found: Found, row: Row, what: str, name: str) -> list[float]:
    """Return by round how many times as long as a contender the baseline takes."""
    times = found[what]
    return [base / own for base, own in zip(times[row.baseline], times[name], strict=True)]


def show(title: str, row: Row, found: Found, console: Console) -> bool:
    """Print a row and how its goals were met; return whether all were."""
    limits = row.limits(row, found)
    shown = table(
        "time of",
        "contender",
        "ms",
        f"{row.baseline} / it",
        "limit, ms",
        title=title,
        left=["time of", "contender"],
    )
    for what, times in found.items():
        for name, own in times.items():
            if row.baseline not in times:
                continue
            ratios = over(found, row, what, name)
            ratio = f"{statistics.median(ratios):.3f} ({min(ratios):.3f}-{max(ratios):.3f})"
            limit = f"{limits[what] * 1e3:,.0f}" if what in limits else ""
            shown.add_row(what, name, f"{statistics.median(own) * 1e3:,.0f}", ratio, limit)
    console.print(shown)
    are_met = True
    for (what, name), least in row.goals.items():
        reached = statistics.median(over(found, row, what, name))
        are_met &= reached >= least
        word = "met" if reached >= least else "MISSED"
        console.print(f"  {word}: {what}, {row.baseline} / {name} {reached:.3f}, at least {least:g}")
    return are_met


def main() -> int:
    """Measure the rows, and print a table of each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", nargs="*", choices=[[], *ROWS], help="all, unless named")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write what was found there, a line of JSON a row")
    history.add_option(parser)
    given = parser.parse_args()
    console, records, are_met = Console(width=120), [], True
    for name in given.rows or ROWS:
        row, load = ROWS[name], os.getloadavg()[0]
        found = run(row, given.rounds)
        title = f"{name}: {row.hosts} hosts, {row.rate}, {given.rounds} rounds, load {load:.1f} before"
        are_met &= show(title, row, found, console)
        records.append({"row": name, "load": load, "machine": describe_machine(), "found": found})
    console.print(f"{describe_machine()}, torch {torch.__version__}")
    history.record(given, records)
    if given.json:
        write_whole(given.json, "".join(f"{json.dumps(record)}\n" for record in records))
    return int(not are_met)


if __name__ == "__main__":
    sys.exit(main())
