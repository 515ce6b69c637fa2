# SPDX-License-Identifier: Apache-2.0
"""An all-reduce with eight bits an element beside plain float32 and bfloat16, between hosts of limited NICs.

Goal (4 hosts, 4 MiB, up to 1 Gbit/s): at most 0.30 of the time of float32. The ways take turns. Bfloat16 travels as
hemiola.torch.BFloat16Gradients sends it: to the owner, added as float32, and to all. Makes its own cluster of network
namespaces on this machine (needs root); `--here` runs the ranks on this host over shared memory instead."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

import hemiola as hm
from hemiola.cluster import Cluster
from hemiola.machine.capacity import describe_machine
from hemiola.units import parse_bytes

#: The first turns find schedules, touch memory and try both forms of a quantizer.
WARM_UP = 8


def bfloat16(comm: hm.Communicator, x: Any, out: Any) -> None:
    n = comm.rank_count
    parts = comm.all_to_all(x.astype(ml_dtypes.bfloat16).view(np.uint16), sparse=False).reshape(n, -1)
    average = parts.view(ml_dtypes.bfloat16).astype(np.float32).mean(0).astype(ml_dtypes.bfloat16)
    out[:] = comm.all_gather(average.view(np.uint16), sparse=False).view(ml_dtypes.bfloat16)


def rank_main(options: argparse.Namespace) -> None:
    comm = hm.init(timeout_s=300)
    size = options.bytes[0] // 4 // comm.rank_count * comm.rank_count
    x = np.random.default_rng(comm.rank).standard_normal(size).astype(np.float32)
    out, quantizer = np.empty_like(x), hm.Quantizer()
    ways: dict[str, Callable[[], object]] = {
        "float32": lambda: comm.all_reduce(x, "average", out=out),
        "bfloat16": lambda: bfloat16(comm, x, out),
        "eight bits": lambda: quantizer.all_reduce(comm, x, "average", out=out),
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    busy = dict.fromkeys(ways, 0.0)
    for turn in range(options.turns + WARM_UP):
        for place in range(len(ways)):  # each way follows each other one, since caches remember
            name = list(ways)[(place * (1 + turn % 2) + turn) % len(ways)]
            comm.barrier()
            begin, core_begin = time.perf_counter(), time.process_time()
            ways[name]()
            if turn >= WARM_UP:
                taken[name].append(time.perf_counter() - begin)
                busy[name] += time.process_time() - core_begin
    core_s = comm.all_reduce(np.array(list(busy.values())))
    cores = {name: float(every_s) / sum(taken[name]) for name, every_s in zip(ways, core_s, strict=True)}
    if comm.rank == 0:
        report(options, taken, cores, quantizer.residual is not None)


def report(
    options: argparse.Namespace, taken: dict[str, list[float]], cores: dict[str, float], rounds: bool
) -> None:
    """Print a row for each way, as words or as a line of JSON. Busy cores are all ranks' CPU time over the time."""
    plain_s = statistics.median(taken["float32"])
    for name, times in taken.items():
        median_s = statistics.median(times)
        row = {
            "way": name,
            "rounds": rounds and name == "eight bits",
            "megabits": 0 if options.here else options.megabits[0],
            "bytes": options.bytes[0],
            "seconds": times,
            "busy_cores": cores[name],
            "of_float32": median_s / plain_s,
        }
        words = (
            f"{name:10}  median {1e3 * median_s:.2f} ms ({1e3 * min(times):.2f} … {1e3 * max(times):.2f}, "
            f"{len(times)} times), {median_s / plain_s:.3f} of float32, {cores[name]:.2f} cores busy"
        )
        print(json.dumps(row) if options.json else words, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--megabits", type=int, nargs="+", default=[100], help="of each NIC; 0: no limit")
    parser.add_argument("--bytes", type=parse_bytes, nargs="+", default=[4 << 20])
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--here", action="store_true", help="ranks of one host, over shared memory")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each row")
    options = parser.parse_args()
    if "HEMIOLA_RANK" in os.environ:
        rank_main(options)
        return
    print(f"{describe_machine()}; load average {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
    hemiola, name = [sys.executable, "-m", "hemiola"], f"quantized{os.getpid()}"
    same = ["--hosts", f"{options.hosts}", "--turns", f"{options.turns}", *["--json"] * options.json]

    def measure(start: list[str], nbytes: int, more: list[str]) -> None:
        program = [__file__, "--bytes", str(nbytes), *same, *more]
        subprocess.run([*hemiola, *start, "--no-labels", *program], check=True)

    if options.here:
        for nbytes in options.bytes:
            measure(["launch", "-n", str(options.hosts)], nbytes, ["--here"])
        return
    with Cluster(options.hosts, name=name) as cluster:
        for megabits, nbytes in itertools.product(options.megabits, options.bytes):
            for host in range(options.hosts):
                cluster.set_rate(host, f"{megabits}mbit" if megabits else None)
            print(f"{megabits} Mbit/s, {nbytes} bytes:", file=sys.stderr, flush=True)
            measure(["cluster", "run", "--name", name], nbytes, ["--megabits", str(megabits)])


if __name__ == "__main__":
    main()
