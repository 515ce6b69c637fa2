# SPDX-License-Identifier: Apache-2.0
"""Collectives of torch.distributed on "hemiola", beside gloo in the same processes and the same run.

Goals: all_reduce of 1 KiB between 2 ranks in at most 18 µs (2.13), and at most 16 µs more than hm.Communicator's call
on NumPy; 10 and 8 where `hemiola accelerate` has compiled the accelerator, in a column of its own; from 64 KiB to
64 MiB, 2 and 4 ranks, 3 × as fast as gloo at the median, 1.5 × at the worst. In every round each contender is measured,
one after the other; printed are medians of the rounds and, in brackets, their range. Of gloo's time for small messages
most is the waking of its threads, which differs between machines by factors, so microseconds stand beside every
ratio."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from rich.console import Console

import hemiola as hm
import history
from hemiola import environment
from hemiola.cli.output import table
from hemiola.machine.capacity import describe_machine
from hemiola.torch.accelerator import compiled_file
from hemiola.units import format_bytes, parse_bytes
from hemiola.whole_file import write_whole

SMALL = 1 << 10
SIZES = (64 << 10, 1 << 20, 16 << 20, 64 << 20)
COLLECTIVES = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
    "broadcast",
    "all_gather to a list",
    "reduce_scatter of a list",
)
ROUND_S = 0.15
LIMIT = timedelta(seconds=120)

Times = dict[str, dict[str, list[float]]]


def written(count: int) -> torch.Tensor:
    """Return zeros with pages of their own: those that nobody has written are all one."""
    return torch.empty(count).fill_(0)


def operation(collective: str, nbytes: int, group: Any) -> Callable[[], Any]:
    """Return a call of a collective, whose larger tensor has so many bytes."""
    count = dist.get_world_size()
    whole = written(nbytes // 4 // count * count)
    part = written(whole.numel() // count)
    if collective == "all_reduce":
        return lambda: dist.all_reduce(whole, group=group)
    if collective == "broadcast":
        return lambda: dist.broadcast(whole, 0, group=group)
    if collective == "all_gather":
        return lambda: dist.all_gather_into_tensor(whole, part, group=group)
    if collective == "reduce_scatter":
        return lambda: dist.reduce_scatter_tensor(part, whole, group=group)
    parts = [written(part.numel()) for _ in range(count)]
    if collective == "all_gather to a list":
        return lambda: dist.all_gather(parts, part, group=group)
    if collective == "reduce_scatter of a list":
        return lambda: dist.reduce_scatter(part, parts, group=group)
    other = written(whole.numel())
    return lambda: dist.all_to_all_single(other, whole, group=group)


def seconds_of(call: Callable[[], Any], most_s: float) -> float:
    """Return the median time of a call, over as many calls as fit, on this rank."""
    began = time.perf_counter()
    call()
    repeats = torch.tensor([min(max(3, round(most_s / (time.perf_counter() - began))), 300)])
    dist.broadcast(repeats, 0)
    times = []
    for _ in range(int(repeats)):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def group_of_ours(accelerator: str) -> Any:
    """Return a group that goes past Python, or does not."""
    os.environ[environment.TORCH_ACCELERATOR.name] = accelerator
    return dist.new_group(backend="hemiola", timeout=LIMIT)


def measure(rounds: int, sizes: list[int], only: Sequence[str]) -> Times:
    """Return by row and contender the time of each round."""
    groups = {"gloo": dist.group.WORLD, "hemiola": group_of_ours("off")}
    if compiled_file() is not None:
        groups["compiled"] = group_of_ours("on")
    comm = hm.Communicator.join(
        dist.get_rank(), dist.get_world_size(), dist.distributed_c10d._get_default_store()
    )
    found: Times = {}
    for collective, nbytes in rows(sizes, only):
        calls = {name: operation(collective, nbytes, group) for name, group in groups.items()}
        if nbytes == SMALL:
            array = torch.zeros(SMALL // 4).numpy()
            calls["hm.Communicator"] = partial(comm.all_reduce, array)
        row = found.setdefault(f"{collective} {format_bytes(nbytes)}", {name: [] for name in calls})
        for _ in range(rounds):
            for name, call in calls.items():
                dist.barrier()
                row[name].append(seconds_of(call, ROUND_S))
    comm.close()
    return found


def rows(sizes: list[int], only: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield what is measured."""
    if "all_reduce" in only:
        yield "all_reduce", SMALL
    for nbytes in sizes:
        for collective in only:
            yield collective, nbytes


def run(rank_count: int, rounds: int, sizes: list[int], only: Sequence[str]) -> Times:
    """Fork the ranks and return what rank 0 has measured."""
    folder = Path(tempfile.mkdtemp())
    children = []
    for rank in range(rank_count):
        child = os.fork()
        if child == 0:
            torch.set_num_threads(1)
            at = f"file://{folder}/store"
            dist.init_process_group("gloo", init_method=at, rank=rank, world_size=rank_count, timeout=LIMIT)
            mine = measure(rounds, sizes, only)
            if rank == 0:
                write_whole(folder / "found", json.dumps(mine).encode())
            dist.destroy_process_group()
            os._exit(0)
        children.append(child)
    if any([os.waitpid(child, 0)[1] for child in children]):
        sys.exit("a rank has failed")
    found: Times = json.loads((folder / "found").read_bytes())
    return found


def lines(found: Times) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table: median times in µs, and how many times as long gloo takes, with least and most."""
    for row, times in found.items():
        told = (
            f"{statistics.median(times[name]) * 1e6:,.1f}" if name in times else ""
            for name in ("gloo", "hemiola", "compiled", "hm.Communicator")
        )
        ratios = [gloo / own for gloo, own in zip(times["gloo"], times["hemiola"], strict=True)]
        yield row, *told, f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"


def main() -> None:
    """Measure with each number of ranks, and print a table of each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--sizes", nargs="+", default=[format_bytes(size) for size in SIZES])
    parser.add_argument("--only", nargs="+", choices=COLLECTIVES, default=COLLECTIVES, metavar="COLLECTIVE")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--json", type=Path, help="write the times there, a line of JSON for each number of ranks"
    )
    history.add_option(parser)
    given = parser.parse_args()
    console, records = Console(), []
    for rank_count in given.ranks:
        load = os.getloadavg()[0]
        found = run(rank_count, given.rounds, [parse_bytes(size) for size in given.sizes], given.only)
        title = f"{rank_count} ranks, torch {torch.__version__}, load {load:.1f}; {describe_machine()}"
        shown = table(
            "collective",
            "gloo, µs",
            "hemiola, µs",
            "compiled, µs",
            "NumPy, µs",
            "gloo / hemiola",
            title=title,
            left=["collective"],
        )
        for line in lines(found):
            shown.add_row(*line)
        console.print(shown)
        records.append({"ranks": rank_count, "load": load, "machine": describe_machine(), "seconds": found})
    history.record(given, records)
    if given.json:
        write_whole(given.json, "".join(f"{json.dumps(record)}\n" for record in records).encode())


if __name__ == "__main__":
    main()
