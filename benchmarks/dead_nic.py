# SPDX-License-Identifier: Apache-2.0
"""A NIC is dead from the start, on emulated hosts with several: the time of the planned all-reduce, beside its plan and
the fault-free one. Every element is checked.

Goal: at most 1.15 times the plan, and no wrong element. Exit code 1 for a wrong element alone.

    python benchmarks/dead_nic.py [--calls 5] [--size 512KiB] [--bandwidth 100kB/s]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import time
from typing import Any

import numpy as np

import hemiola as hm
from hemiola.machine.capacity import describe_machine, machine_cores
from hemiola.units import parse_bandwidth, parse_bytes

#: Hosts, ranks of each, and NICs of each.
SHAPES = ((2, 4, 4), (2, 4, 2), (4, 4, 4))
#: Seconds of a core for a message of ranks that share this machine (docs/decisions/0024).
CORE_S = 20e-6
DEAD = hm.Conditions(slow={"nic:0/nic1": math.inf})


def work(size: int, calls: int, schedule: hm.Schedule) -> tuple[list[float], int]:
    """Run as one of the ranks; return the seconds of each call until the last rank is through, and wrong elements."""
    comm = hm.init(timeout_s=120)
    n, wrong = comm.rank_count, 0
    own = np.arange(size // 4, dtype=np.float32) % 1000
    seconds = []
    for _ in range(calls):
        x = own + comm.rank
        seen = np.empty((n, 2))
        comm.barrier()
        begin_s = time.monotonic()
        comm.all_reduce(x, schedule=schedule)
        comm.all_gather(np.array([begin_s, time.monotonic()]), out=seen)
        wrong += int((x != n * own + n * (n - 1) / 2).sum())
        seconds.append(float(seen[:, 1].max() - seen[:, 0].max()))
    return seconds[1:], wrong  # the first compiles


def row(shape: tuple[int, int, int], size: int, calls: int, bandwidth: float) -> dict[str, Any]:
    """Plan and run the all-reduce of a shape, without the fault and with it."""
    hosts, ranks, nics = shape
    network = hm.topologies.hosts(
        hosts,
        ranks,
        nics,
        latency_s=20e-6,
        bandwidth=8 * bandwidth,
        nic_latency_s=100e-6,
        nic_bandwidth=bandwidth,
    )
    found: dict[str, Any] = {"hosts": hosts, "ranks": ranks, "nics": nics}
    message_s = CORE_S / min(network.rank_count, machine_cores())
    took: dict[str, float] = {}
    for name, conditions in (("healthy", hm.Conditions()), ("dead", DEAD)):
        plan = hm.plan(network, "all_reduce", size, conditions, shared_message_s=message_s)
        runs = hm.launch(
            work,
            network.rank_count,
            size,
            calls,
            plan.schedule,
            emulate=network,
            conditions=conditions,
            timeout_s=600,
        )
        took[name] = statistics.median(runs[0][0])
        found[name] = {
            "schedule": plan.name,
            "planned_s": round(plan.seconds, 4),
            "s": round(took[name], 4),
            "over_plan": round(took[name] / plan.seconds, 3),
            "wrong": sum(wrong for _, wrong in runs),
        }
    return found | {
        "over_healthy": round(took["dead"] / took["healthy"], 3),
        "load": round(os.getloadavg()[0], 1),
    }


def main() -> int:
    """Run every shape, and print a JSON line for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=5)
    parser.add_argument("--size", type=parse_bytes, default=512 << 10)
    parser.add_argument("--bandwidth", type=parse_bandwidth, default=100e3, help="of a NIC")
    asked = parser.parse_args()
    wrong = 0
    for shape in SHAPES:
        found = row(shape, asked.size, max(2, asked.calls), asked.bandwidth)
        wrong += found["healthy"]["wrong"] + found["dead"]["wrong"]
        print(json.dumps(found), flush=True)
    print(json.dumps({"wrong": wrong, "machine": describe_machine()}))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
