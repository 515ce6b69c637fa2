# SPDX-License-Identifier: Apache-2.0
"""How long newcomers between hosts take to get the state of the others, beside what their NICs take at least.

Goal (4 hosts, 1 Gbit/s, 256 MiB, one newcomer): at most 1.03 of the NIC's goodput limit; two newcomers: 1.05. Of 1,514
bytes on the wire TCP carries 1,448. The last ranks are behind, and all their memory differs. A broadcast of the whole
takes turns with it. Makes its own cluster of network namespaces on this machine (needs root)."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np

import hemiola as hm
from hemiola.cluster import Cluster
from hemiola.machine.capacity import describe_machine
from hemiola.units import parse_bytes

GOALS = {1: 1.03, 2: 1.05}
_GOODPUT = 1448 / 1514


def rank_main(options: argparse.Namespace) -> None:
    comm = hm.init(timeout_s=300)
    wanted = np.random.default_rng(0).integers(0, 255, options.bytes, np.uint8)
    is_behind = comm.rank >= comm.rank_count - options.newcomers
    state = wanted.copy()
    taken: dict[str, list[float]] = {"heal": [], "broadcast": []}
    for turn in range(options.turns + 1):
        for way, times in taken.items():
            if is_behind:
                state[:] = turn + 1
            comm.barrier()
            begin = time.perf_counter()
            if way == "heal":
                comm.heal(state)
            else:
                comm.broadcast(state)
            comm.barrier()
            if turn:  # the first one makes connections
                times.append(time.perf_counter() - begin)
            assert np.array_equal(state, wanted)
    if comm.rank:
        return
    limit_s = 8 * options.bytes / (options.megabits * 1e6 * _GOODPUT)
    for way, times in taken.items():
        ratio = statistics.median(times) / limit_s
        row = {
            "way": way,
            "newcomers": options.newcomers,
            "seconds": times,
            "limit_s": limit_s,
            "ratio": ratio,
        }
        goal = GOALS.get(options.newcomers, 1.05)
        judged = f"; {'met' if ratio <= goal else 'MISSED'}, at most {goal}" if way == "heal" else ""
        words = (
            f"{way:9} to {options.newcomers}: median {statistics.median(times):.3f} s "
            f"({min(times):.3f} … {max(times):.3f}), {ratio:.3f} of {limit_s:.3f} s{judged}"
        )
        print(json.dumps(row) if options.json else words, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--newcomers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--megabits", type=int, default=1000, help="of each NIC")
    parser.add_argument("--bytes", type=parse_bytes, default=256 << 20)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="a line of JSON for each row")
    options = parser.parse_args()
    if "HEMIOLA_RANK" in os.environ:
        options.newcomers = options.newcomers[0]
        rank_main(options)
        return
    print(f"{describe_machine()}; load average {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
    name = f"healing{os.getpid()}"
    same = ["--megabits", str(options.megabits), "--bytes", str(options.bytes), "--turns", str(options.turns)]
    with Cluster(options.hosts, name=name) as cluster:
        for host in range(options.hosts):
            cluster.set_rate(host, f"{options.megabits}mbit")
        for newcomers in options.newcomers:
            program = [__file__, "--newcomers", str(newcomers), *same, *["--json"] * options.json]
            start = [sys.executable, "-m", "hemiola", "cluster", "run", "--name", name, "--no-labels"]
            subprocess.run([*start, *program], check=True)


if __name__ == "__main__":
    main()
