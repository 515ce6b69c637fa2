# SPDX-License-Identifier: Apache-2.0
"""What `hemiola calibrate` finds on hosts of this machine whose NICs' rates are known, one of them slower.

Two ranks a host share its NIC. Goals: each NIC's bandwidth within 5 % of what its rate leaves to TCP's payload, the
slow one among them; the ranks that share a NIC; ten seconds at most.

    python benchmarks/calibrate.py [--hosts 8] [--ranks-per-host 2] [--rate 200mbit] [--slow 2] [--rounds 3] [--json]

Exit code 1 where a goal is missed."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

from rich.console import Console

from hemiola.cli.output import table
from hemiola.cluster import Cluster
from hemiola.machine.capacity import describe_machine
from meeting import run_job

#: Of an Ethernet frame of 1,514 bytes TCP's payload has so many.
PAYLOAD = 1448 / 1514
CLOSE, LONGEST_S = 0.05, 10.0


def calibrate(cluster: Cluster, per_host: int) -> dict[str, Any]:
    """Run `hemiola calibrate` on all hosts; return what its rank 0 says, and how long the command took."""
    hosts = [rank // per_host for rank in range(per_host * len(cluster.hosts))]
    begin = time.monotonic()
    command = [sys.executable, "-m", "hemiola", "calibrate", "--json", "-o", "/dev/null"]
    said = run_job(cluster, hosts, command, per_host, limit_s=120)
    answer: dict[str, Any] = json.loads(said[0])
    return answer | {"command_s": time.monotonic() - begin}


def judged(cluster: Cluster, per_host: int, found: dict[str, Any]) -> dict[str, Any]:
    """Compare what was found with what is so."""
    off, shared = [], True
    for number, nic in enumerate(found["nics"]):
        rate = cluster.rates(nic["host"])[0]
        assert rate is not None
        off.append(nic["bandwidth"] / (rate * PAYLOAD) - 1)
        shared &= nic["ranks"] == list(range(number * per_host, (number + 1) * per_host))
    shared &= len(off) == len(cluster.hosts)
    return {
        "farthest": max(off, key=abs),
        "slow": off[0],
        "shared": shared,
        "seconds": found["seconds"],
        "command_s": found["command_s"],
        "met": shared and max(map(abs, off)) <= CLOSE and found["seconds"] <= LONGEST_S,
    }


def measure(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Calibrate again and again, host 0's NIC being the slow one."""
    with Cluster(options.hosts, rate=options.rate, slow={0: options.slow}) as cluster:
        for _ in range(options.rounds):
            yield judged(cluster, options.ranks_per_host, calibrate(cluster, options.ranks_per_host))


def main() -> int:
    """Measure, print, and say by the exit code whether the goals are met."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--hosts", type=int, default=8)
    parser.add_argument("--ranks-per-host", type=int, default=2)
    parser.add_argument("--rate", default="200mbit")
    parser.add_argument("--slow", type=float, default=2.0, help="by what host 0's NIC is slower")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print JSON lines instead of a table")
    options = parser.parse_args()
    begin_load, rows = os.getloadavg()[0], []
    for row in measure(options):
        rows.append(row)
        if options.json:
            print(json.dumps(row), flush=True)
    if not options.json:
        console = Console()
        shown = table(
            "farthest off", "slow NIC off", "sharing found", "measured in", "command", "", left=("",)
        )
        for row in rows:
            shown.add_row(
                f"{row['farthest']:+.1%}",
                f"{row['slow']:+.1%}",
                "yes" if row["shared"] else "NO",
                f"{row['seconds']:.1f} s",
                f"{row['command_s']:.1f} s",
                "met" if row["met"] else "MISSED",
            )
        console.print(shown)
        loads = f"load {begin_load:.1f} to {os.getloadavg()[0]:.1f}"
        console.print(
            f"{describe_machine()}; {loads}; {options.hosts} hosts at {options.rate}", highlight=False
        )
    return 0 if all(row["met"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
