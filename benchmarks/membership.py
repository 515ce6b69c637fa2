# SPDX-License-Identifier: Apache-2.0
"""What it costs the others when a rank of one machine dies, joins or leaves.

Goals: from a kill to the survivors' next operation at most 30 ms; a pause of at most 20 ms when one joins or leaves,
beyond an ordinary operation; 0.5 s from a warm newcomer's knock to its first operation. A warm newcomer has imported
Hemiola. Each member runs all-reduces of 1 KiB. Its pause goes from the beginning of the operation that failed, or was
called, to the end of the first one with the next members."""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time

import numpy as np

import hemiola as hm
from hemiola.machine.capacity import describe_machine

GOALS_MS = {"kill": 30.0, "join": 20.0, "leave": 20.0, "newcomer": 500.0}
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


def rank_main(name: str, rank: int, ranks: int, event: str) -> None:
    """Take part as a member, or as the newcomer, whose number is the count of members."""
    is_last = rank == ranks - 1
    if rank < ranks:
        comm = hm.Communicator.join(rank, ranks, name, timeout_s=60)
        row = train(comm, _AFTER, event == "kill" and is_last, event == "leave" and is_last)
    else:
        sys.stdin.readline()  # until the members are at work
        begin = time.perf_counter()
        comm = hm.join(name, timeout_s=60)
        comm.all_reduce(np.ones(128))
        row = {"newcomer_ms": 1e3 * (time.perf_counter() - begin)}
        for _ in range(_AFTER):
            comm.all_reduce(np.ones(128))
    print(json.dumps(row))


def one_round(ranks: int, event: str, number: int) -> list[dict[str, float]]:
    """Start a job, let something happen, and return what its processes have measured."""
    name = f"membership-{os.getpid()}-{event}-{number}"
    count = ranks + (event == "join")
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, "--as", name, str(rank), str(ranks), event],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(count)
    ]
    time.sleep(2)
    found = [process.communicate("go\n")[0] for process in reversed(processes)]
    return [json.loads(text) for text in found if text.strip()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="a line of JSON for each row")
    parser.add_argument("--as", nargs=4, dest="role", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        name, rank, ranks, event = options.role
        rank_main(name, int(rank), int(ranks), event)
        return
    print(f"{describe_machine()}; load average {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
    for ranks in options.ranks:
        for event in ("kill", "leave", "join"):
            rows = [row for number in range(options.rounds) for row in one_round(ranks, event, number)]
            beyond = [row["pause_ms"] - row["operation_ms"] for row in rows if "pause_ms" in row]
            report(options, ranks, event, beyond)
            if event == "join":
                report(
                    options, ranks, "newcomer", [row["newcomer_ms"] for row in rows if "newcomer_ms" in row]
                )


def report(options: argparse.Namespace, ranks: int, what: str, times: list[float]) -> None:
    """Print a row."""
    low, median, high = (float(value) for value in np.percentile(times, [25, 50, 75]))
    row = {"ranks": ranks, "what": what, "median_ms": median, "quartiles_ms": [low, high], "times_ms": times}
    goal = GOALS_MS[what]
    words = (
        f"{what:8} {ranks} ranks: median {median:6.1f} ms ({low:.1f} … {high:.1f}, {len(times)} times); "
        f"{'met' if median <= goal else 'MISSED'}, at most {goal:g}"
    )
    print(json.dumps(row) if options.json else words, flush=True)


if __name__ == "__main__":
    main()
