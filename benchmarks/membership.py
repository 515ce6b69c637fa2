# SPDX-License-Identifier: Apache-2.0
"""What it costs the others when a rank dies, joins or leaves: on one machine, or on namespace hosts with a rank each.

Goals: from a kill to the survivors' next operation at most 30 ms, between hosts 50 ms. A pause of 20 ms, between
hosts 30 ms, when one joins or leaves, beyond an ordinary operation. From a newcomer's knock to its first operation
0.5 s, and from the start of its process 1 s. Each member runs all-reduces of 1 KiB. Its pause goes from the beginning
of the operation that failed, or was called, to the end of the first one with the next members."""

from __future__ import annotations

import argparse
import json
import os
import secrets
import signal
import statistics
import subprocess
import sys
import time
from contextlib import nullcontext
from typing import Any

import numpy as np

import hemiola as hm
from hemiola.cluster import Cluster
from hemiola.machine.capacity import describe_machine

#: On one machine, and between hosts.
GOALS_MS = {
    "kill": (30.0, 50.0),
    "join": (20.0, 30.0),
    "leave": (20.0, 30.0),
    "newcomer": (500.0, 500.0),
    "cold newcomer": (1000.0, 1000.0),
}
#: Operations of the members before something happens, and after it.
_BEFORE, _AFTER = 300, 50


def train(comm: hm.Communicator, steps: int, victim: bool, leaver: bool) -> dict[str, float]:
    """Run operations until the members have changed, and some more; return the pause and an ordinary operation."""
    x, times = np.ones(128), list[float]()
    pause_s, step = 0.0, 0
    while not pause_s or step:
        if victim and len(times) == _BEFORE:
            os.kill(os.getpid(), signal.SIGKILL)
        if leaver and len(times) == _BEFORE:
            comm.leave()
        begin = time.perf_counter()
        is_over = False
        try:
            comm.all_reduce(x)
            is_over = comm.is_called
        except hm.LostRankError:
            is_over = True
        if is_over:
            following = comm.grow()
            if following is None:
                return {}
            comm = following
            comm.all_reduce(x)
            pause_s, step = time.perf_counter() - begin, steps
        else:
            times.append(time.perf_counter() - begin)
            step -= bool(pause_s)
    return {"pause_ms": 1e3 * pause_s, "operation_ms": 1e3 * statistics.median(times)}


def rank_main(rank: int, ranks: int, event: str) -> None:
    """Take part as a member, or as the newcomer, whose number is the count of members."""
    is_last = rank == ranks - 1
    if rank < ranks:
        comm = hm.init(timeout_s=60)
        row = train(comm, _AFTER, event == "kill" and is_last, event == "leave" and is_last)
    else:
        began = float(sys.stdin.readline() or 0)  # once the members are at work
        join = hm.join  # which imports all that it needs
        begin = time.time()
        comm = join(timeout_s=60)
        comm.all_reduce(np.ones(128))
        row = {"newcomer_ms": 1e3 * (time.time() - begin), "cold_ms": 1e3 * (time.time() - began)}
        for _ in range(_AFTER):
            comm.all_reduce(np.ones(128))
    print(json.dumps(row))


def one_round(ranks: int, event: str, cluster: Cluster | None) -> list[dict[str, float]]:
    """Start a job, let something happen, and return what its processes have measured."""
    job = {"HEMIOLA_JOB": secrets.token_hex(4)}
    if cluster is not None:
        job["HEMIOLA_RENDEZVOUS"] = f"{cluster.hosts[0].ipv4}:29400"
        job["HEMIOLA_TOKEN"] = secrets.token_hex(32)

    def start(rank: int) -> subprocess.Popen[str]:
        own = {"HEMIOLA_RANK": str(rank), "HEMIOLA_RANK_COUNT": str(ranks)}
        how: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        command = [sys.executable, __file__, "--as", str(rank), str(ranks), event]
        environment = os.environ | job | (own if rank < ranks else {})
        if cluster is None:
            return subprocess.Popen(command, env=environment, **how)
        return cluster.start(rank, command, env=environment, **how)

    processes = [start(rank) for rank in range(ranks)]
    time.sleep(2)
    began = time.time()
    if event == "join":
        processes.append(start(ranks))
    found = [process.communicate(f"{began}\n")[0] for process in reversed(processes)]
    return [json.loads(text) for text in found if text.strip()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument(
        "--hosts", action="store_true", help="each rank on a namespace host of its own, at 1 Gbit/s"
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="a line of JSON for each row")
    parser.add_argument("--as", nargs=3, dest="role", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        rank, ranks, event = options.role
        rank_main(int(rank), int(ranks), event)
        return
    print(f"{describe_machine()}; load average {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
    for ranks in options.ranks:
        with Cluster(ranks + 1, rate="1gbit") if options.hosts else nullcontext() as cluster:
            for event in ("kill", "leave", "join"):
                rows = [row for _ in range(options.rounds) for row in one_round(ranks, event, cluster)]
                beyond = [row["pause_ms"] - row["operation_ms"] for row in rows if "pause_ms" in row]
                report(options, ranks, event, beyond)
                if event == "join":
                    for what, key in (("newcomer", "newcomer_ms"), ("cold newcomer", "cold_ms")):
                        report(options, ranks, what, [row[key] for row in rows if key in row])


def report(options: argparse.Namespace, ranks: int, what: str, times: list[float]) -> None:
    """Print a row."""
    low, median, high = (float(value) for value in np.percentile(times, [25, 50, 75]))
    row = {"ranks": ranks, "what": what, "median_ms": median, "quartiles_ms": [low, high], "times_ms": times}
    goal = GOALS_MS[what][options.hosts]
    words = (
        f"{what:13} {ranks} ranks: median {median:6.1f} ms ({low:.1f} … {high:.1f}, {len(times)} times); "
        f"{'met' if median <= goal else 'MISSED'}, at most {goal:g}"
    )
    print(json.dumps(row) if options.json else words, flush=True)


if __name__ == "__main__":
    main()
