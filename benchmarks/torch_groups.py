# SPDX-License-Identifier: Apache-2.0
"""What many groups cost in PyTorch: time to make 64 of 4 ranks, and what a process holds before, with and after them.

Goals: made in at most gloo's time, and after destruction what was there before, as with gloo. Ranks are forked
processes of one host; gloo and "hemiola" take turns, each in processes of its own that have made and destroyed as many
groups three times before: neither counts what a first group loads, and their heaps have settled. "first" is an
all-reduce of one element in each group, the first in it: what a group puts off until then is not hidden; "background"
another one in each, which the caller has left to a thread and waits for. Times are of
the slowest rank; memory is that of all ranks, of which one figure counts what several share as often as it is mapped
(RSS), the other once (PSS)."""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from rich.console import Console

import history
from hemiola.cli.output import table
from hemiola.machine.capacity import describe_machine
from hemiola.whole_file import write_whole

CONTENDERS = ("gloo", "hemiola")
STORES = ("file", "tcp")
TIMED = ("make", "first", "background", "destroy")
LIMIT = timedelta(seconds=120)
WARMING = 3

#: By what is counted: its numbers, one a rank.
Seen = dict[str, float]


def held() -> Seen:
    """Return what this process holds: MiB of memory, threads, descriptors and mappings."""
    gc.collect()
    rollup = Path("/proc/self/smaps_rollup").read_text().splitlines()
    mib = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in rollup[1:]}
    return {
        "RSS, MiB": mib["Rss"],
        "PSS, MiB": mib["Pss"],
        "threads": len(os.listdir("/proc/self/task")),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "mappings": len(Path("/proc/self/maps").read_text().splitlines()),
    }


def make_and_destroy(group_count: int) -> dict[str, Any]:
    """Make groups of all ranks, use each once, and destroy them; return times, and what was held."""
    before = held()
    dist.barrier()
    began = time.perf_counter()
    groups = [dist.new_group(range(dist.get_world_size())) for _ in range(group_count)]
    made = time.perf_counter()
    one = torch.ones(1)
    for group in groups:
        dist.all_reduce(one, group=group)
    used = time.perf_counter()
    for group in groups:
        dist.all_reduce(one, group=group, async_op=True).wait()
    used_again = time.perf_counter()
    during = held()
    dist.barrier()
    ending = time.perf_counter()
    for group in groups:
        dist.destroy_process_group(group)
    groups.clear()
    destroyed = time.perf_counter()
    del group
    dist.barrier()
    return {
        "seconds": {
            "make": made - began,
            "first": used - made,
            "background": used_again - used,
            "destroy": destroyed - ending,
        },
        "held": {"before": before, "with": during, "after": held()},
    }


def be_rank(rank: int, contender: str, store: str, given: argparse.Namespace, folder: Path) -> None:
    """Join, make groups again and again, and leave what the last time has shown."""
    torch.set_num_threads(1)
    place: Any
    if store == "file":
        place = dist.FileStore(str(folder / "store"), given.ranks)
    else:
        place = dist.TCPStore("127.0.0.1", given.port, given.ranks, rank == 0, LIMIT)
    dist.init_process_group(contender, store=place, rank=rank, world_size=given.ranks, timeout=LIMIT)
    dist.all_reduce(torch.ones(1))
    for _ in range(WARMING):
        make_and_destroy(given.groups)
    found = make_and_destroy(given.groups)
    write_whole(folder / f"found {rank}", json.dumps(found).encode())
    dist.barrier()
    dist.destroy_process_group()


def run(contender: str, store: str, given: argparse.Namespace) -> dict[str, Any]:
    """Fork the ranks; return times of the slowest, and what all of them held."""
    folder = Path(tempfile.mkdtemp())
    children = []
    for rank in range(given.ranks):
        child = os.fork()
        if child == 0:
            be_rank(rank, contender, store, given, folder)
            os._exit(0)
        children.append(child)
    if any([os.waitpid(child, 0)[1] for child in children]):
        sys.exit("a rank has failed")
    ranks = [json.loads((folder / f"found {rank}").read_bytes()) for rank in range(given.ranks)]
    return {
        "seconds": {name: max(one["seconds"][name] for one in ranks) for name in TIMED},
        "held": {
            when: {what: sum(one["held"][when][what] for one in ranks) for what in ranks[0]["held"][when]}
            for when in ("before", "with", "after")
        },
    }


def lines(rounds: list[dict[str, dict[str, Any]]]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a table: times in seconds, then what was held before, with and after the groups."""
    for name in TIMED:
        times = {who: [one[who]["seconds"][name] for one in rounds] for who in CONTENDERS}
        ratios = [gloo / own for gloo, own in zip(times["gloo"], times["hemiola"], strict=True)]
        told = (f"{statistics.median(times[who]):.3f}" for who in CONTENDERS)
        yield f"{name}, s", *told, f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"
    for what in rounds[0]["gloo"]["held"]["before"]:
        told = (
            " / ".join(
                f"{statistics.median(one[who]['held'][when][what] for one in rounds):,.0f}"
                for when in ("before", "with", "after")
            )
            for who in CONTENDERS
        )
        yield f"{what}: before / with / after", *told, ""


def main() -> None:
    """Measure over each store, and print a table of each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--groups", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--stores", nargs="+", choices=STORES, default=STORES)
    parser.add_argument("--port", type=int, default=29417, help="of the TCP store")
    parser.add_argument("--json", type=Path, help="write what was found there, a line of JSON for each store")
    history.add_option(parser)
    given = parser.parse_args()
    console, records = Console(), []
    for store in given.stores:
        load = os.getloadavg()[0]
        rounds = [{who: run(who, store, given) for who in CONTENDERS} for _ in range(given.rounds)]
        title = (
            f"{given.groups} groups of {given.ranks} ranks, {store} store, medians of {given.rounds} rounds, torch "
            f"{torch.__version__}, load {load:.1f}; {describe_machine()}"
        )
        shown = table("", "gloo", "hemiola", "gloo / hemiola", title=title, left=[""])
        for line in lines(rounds):
            shown.add_row(*line)
        console.print(shown)
        record = {
            "store": store,
            "groups": given.groups,
            "ranks": given.ranks,
            "load": load,
            "rounds": rounds,
        }
        records.append({**record, "machine": describe_machine()})
    history.record(given, records)
    if given.json:
        write_whole(given.json, "".join(f"{json.dumps(record)}\n" for record in records).encode())


if __name__ == "__main__":
    main()
