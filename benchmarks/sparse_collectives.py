# SPDX-License-Identifier: Apache-2.0
"""What collectives take on arrays with many zeros, sparse and dense in turn, between hosts of limited NICs.

Goals (8 hosts with 100 Mbit/s, 64 MiB, 99 % zeros): 60, 50 and 16 times as fast as dense bytes at their optimum, for
all-gather, reduce-scatter and all-reduce. The optimum is that of payload: 95.5 % of the NIC's rate. Makes its own
cluster of network namespaces on this machine (needs root); the data are random, other ones on every rank."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np

import hemiola as hm
import history
from hemiola.cluster import Cluster
from hemiola.machine.capacity import describe_machine
from hemiola.units import parse_bytes

GOODPUT = 0.955
#: How many times of (n-1)/n of the buffer pass a port.
PHASES = {"all_gather": 1, "reduce_scatter": 1, "all_reduce": 2}


def data(rank: int, size: int, density: float) -> np.ndarray:
    random = np.random.default_rng(rank + 1)
    x = np.zeros(size, np.float32)
    chosen = random.random(size) < density
    x[chosen] = random.standard_normal(int(chosen.sum()))
    return x


def seconds(comm: hm.Communicator, kind: str, x: np.ndarray, out: np.ndarray, sparse: bool) -> float:
    comm.barrier()
    begin = time.perf_counter()
    getattr(comm, kind)(x, out=out, sparse=sparse)
    return time.perf_counter() - begin


def rank_main(options: argparse.Namespace) -> None:
    comm = hm.init(timeout_s=300)
    rows = []
    n, whole = comm.rank_count, options.bytes // 4 // comm.rank_count * comm.rank_count
    for kind, phases in PHASES.items():
        brought = whole // n if kind == "all_gather" else whole
        out = np.empty(whole // n if kind == "reduce_scatter" else whole, np.float32)
        best_s = phases * (n - 1) / n * options.bytes / (options.megabits * 125_000 * GOODPUT)
        for density in options.densities:
            x = data(comm.rank, brought, density)
            ways = (False, True) if options.dense else (True,)
            taken: dict[bool, list[float]] = {way: [] for way in ways}
            for turn in range(options.turns + 1):
                for way in ways:
                    took_s = seconds(comm, kind, x, out, way)
                    if turn > 0:  # the first finds schedules and touches memory
                        taken[way].append(took_s)
            if comm.rank == 0:
                for way, times in taken.items():
                    rows.append(report(options, kind, density, way, best_s, times))
    if comm.rank == 0:
        history.record(options, rows)


def report(
    options: argparse.Namespace, kind: str, density: float, sparse: bool, best_s: float, times: list[float]
) -> dict[str, Any]:
    """Print a row, as words or as a line of JSON, and return it."""
    median_s = statistics.median(times)
    row = {
        "collective": kind,
        "hosts": options.hosts,
        "megabits": options.megabits,
        "bytes": options.bytes,
        "density": density,
        "sparse": sparse,
        "seconds": times,
        "median_s": median_s,
        "dense_optimum_s": best_s,
        "gain": best_s / median_s,
    }
    words = (
        f"{kind}  density {density:g}  {'sparse' if sparse else 'dense'}  "
        f"median {1e3 * median_s:.1f} ms ({1e3 * min(times):.1f} … {1e3 * max(times):.1f}, "
        f"{len(times)} times), dense optimum {1e3 * best_s:.0f} ms: {best_s / median_s:.2f} times"
    )
    print(json.dumps(row) if options.json else words, flush=True)
    return row


def announce(options: argparse.Namespace) -> None:
    """Print the machine and its load."""
    load = os.getloadavg()[0]
    row = {"machine": describe_machine(), "load": load}
    print(json.dumps(row) if options.json else f"{row['machine']}; load average {load:.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=8)
    parser.add_argument("--megabits", type=int, default=100)
    parser.add_argument("--bytes", type=parse_bytes, default=64 << 20)
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--densities", type=float, nargs="+", default=[0.01])
    parser.add_argument("--dense", action="store_true", help="dense calls in turn with the sparse ones")
    parser.add_argument("--json", action="store_true", help="a line of JSON for the machine and for each row")
    history.add_option(parser)
    options = parser.parse_args()
    if "HEMIOLA_RANK" in os.environ:
        rank_main(options)
        return
    announce(options)
    name = f"sparse{os.getpid()}"
    with Cluster(options.hosts, rate=f"{options.megabits}mbit", name=name):
        program = ["cluster", "run", "--name", name, "--no-labels", __file__, *sys.argv[1:]]
        subprocess.run([sys.executable, "-m", "hemiola", *program], check=True)
    announce(options)


if __name__ == "__main__":
    main()
