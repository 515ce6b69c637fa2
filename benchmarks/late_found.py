# SPDX-License-Identifier: Apache-2.0
"""A rank that comes late on networks that are not one switch, always the same or another one at each call: what
all-reduces take after it has come.

Ranks are told nothing: they notice that one is late, and plan for it. Every call is in turns with one of the schedule
that is planned for nobody late, between the same processes over the emulated network. Every element is checked. Goal:
less than 0.75 of that schedule's time, and no wrong element.

    python benchmarks/late_found.py [--moving] [--calls 6] [--size 256KiB] [--bandwidth 200kB/s]

Prints a JSON line for each network, with the seconds from the late rank's arrival to the last rank's end as median,
least and most, and one with the machine; exit code 1 for a wrong element."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from typing import Any

import numpy as np

import hemiola as hm
from hemiola.machine.capacity import describe_machine
from hemiola.units import parse_bandwidth, parse_bytes

#: The late rank, where it is always the same.
LATE = 1
_LIMIT_S = 3600.0
#: Calls that the ranks have for noticing.
_MOST_CALLS = 40


def found(size: int, calls: int, delay_s: float, moving: bool) -> dict[str, Any]:
    """Run as one of the ranks: let one come late until that is planned for, then so many calls more."""
    comm = hm.init(timeout_s=600)
    plain = comm.plan("all_reduce", 4 * size)
    took: dict[str, list[float]] = {"found": [], "plain": []}
    wrong = noticed = 0
    while not comm.expects_late_rank(4 * size) and noticed < _MOST_CALLS:
        wrong += _call(comm, size, delay_s, _late(comm, noticed, moving), None)[0]
        noticed += 1
    late = comm.plan("all_reduce", 4 * size)
    for call in range(calls):
        for name, schedule in (("found", None), ("plain", plain.schedule)):
            missed, seconds = _call(comm, size, delay_s, _late(comm, call, moving), schedule)
            wrong, took[name] = wrong + missed, [*took[name], seconds]
    return {
        "plain": plain.name,
        "plain_predicted_s": round(plain.seconds, 4),
        "late": late.name,
        "late_predicted_s": round(late.seconds - sum(late.conditions.late.values()), 4),
        "noticed_after": noticed,
        "took": took,
        "wrong": wrong,
    }


def _late(comm: hm.Communicator, call: int, moving: bool) -> int:
    return call % comm.rank_count if moving else LATE


def _call(
    comm: hm.Communicator, size: int, delay_s: float, late: int, schedule: hm.Schedule | None
) -> tuple[int, float]:
    """Return the wrong elements, and how long after the late rank's arrival the last one was through."""
    n = comm.rank_count
    x = np.arange(size, dtype=np.float32) % 1000 + comm.rank
    comm.barrier()
    if comm.rank == late:
        time.sleep(delay_s)
    begin_s = time.monotonic()
    comm.all_reduce(x, schedule=schedule)
    seen = np.empty((n, 2))
    comm.all_gather(np.array([begin_s, time.monotonic()]), out=seen)
    wrong = x != n * (np.arange(size, dtype=np.float32) % 1000) + n * (n - 1) / 2
    return int(wrong.sum()), float(seen[:, 1].max() - seen[late, 0])


def networks(bandwidth: float) -> list[hm.Topology]:
    """Return some whose links are slow enough for one machine to play all of them."""
    link: dict[str, Any] = {"latency_s": 100e-6, "bandwidth": bandwidth}
    return [
        hm.topologies.fully_connected(4, **link),
        hm.topologies.torus([2, 4], **link),
        hm.topologies.dgx1(**link),
        hm.topologies.mesh([2, 3], **link),
        hm.topologies.torus([4, 4], **link),
    ]


def main() -> int:
    """Run on every network."""
    parser = argparse.ArgumentParser(
        description="A late rank that is found on networks that are not one switch."
    )
    parser.add_argument("--moving", action="store_true", help="Let another rank come late at each call.")
    parser.add_argument("--calls", type=int, default=6)
    parser.add_argument("--size", default="256KiB")
    parser.add_argument("--bandwidth", default="200kB/s")
    asked = parser.parse_args()
    size, wrong = parse_bytes(asked.size) // 4, 0
    for network in networks(parse_bandwidth(asked.bandwidth)):
        delay_s = 1.5 * hm.plan(network, "all_reduce", 4 * size).seconds
        ranks = hm.launch(
            found,
            network.rank_count,
            *(size, asked.calls, delay_s, asked.moving),
            emulate=network,
            timeout_s=_LIMIT_S,
        )
        wrong += sum(rank["wrong"] for rank in ranks)
        row, took = ranks[0], ranks[0].pop("took")
        middle = {name: statistics.median(seconds) for name, seconds in took.items()}
        row |= {
            f"{name}_s": [round(f(took[name]), 4) for f in (statistics.median, min, max)] for name in took
        }
        row |= {"ratio": round(middle["found"] / middle["plain"], 3), "load": round(os.getloadavg()[0], 1)}
        print(json.dumps({"network": network.name, "ranks": network.rank_count, **row}), flush=True)
    print(
        json.dumps(
            {
                "moving": asked.moving,
                "calls": asked.calls,
                "bytes": 4 * size,
                "wrong": wrong,
                "machine": describe_machine(),
            }
        )
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
