# SPDX-License-Identifier: Apache-2.0
"""What the ranks of the tests of groups do; each returns plain data for the test to judge."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

import hemiola as hm
from hemiola.errors import HemiolaError


def in_an_order(order: list[int]) -> dict[str, Any] | None:
    """Make a group, and see by every kind of call who has which number in it."""
    comm = hm.init(timeout_s=60)
    if comm.rank not in order:
        return None
    group, own = comm.group(order), np.array([comm.rank])
    found: dict[str, Any] = {"number": group.rank, "gathered": group.all_gather(own).tolist()}
    found["broadcast"] = group.broadcast(own.copy(), root=0).tolist()
    parts = group.scatter(np.arange(len(order)) if group.rank == 1 else None, root=1, out=np.zeros(1, int))
    found["scattered"] = None if parts is None else parts.tolist()
    following, before = (group.rank + 1) % len(order), (group.rank - 1) % len(order)
    sending, heard = group.start_send(own, following), np.zeros(1, int)
    found["source"] = group.recv(heard) == before
    found["heard"] = heard.tolist()
    sending.wait()
    inner = group.group(list(reversed(range(len(order)))))
    found["reversed again"] = inner.all_gather(own).tolist()
    found["diagnosed"] = type(group.diagnose()).__name__
    return found


def in_different_orders() -> tuple[list[tuple[str, str]], float]:
    """Rank 2 gives another order than the others, then gives it to a group that is to have fewer ranks."""
    comm = hm.init(timeout_s=60)
    seen = []
    for order in ([2, 0, 1] if comm.rank == 2 else [0, 1, 2], [1, 0] if comm.rank == 0 else [0, 1]):
        if comm.rank not in order:
            continue
        try:
            comm.group(order)
            seen.append(("", ""))
        except HemiolaError as error:
            seen.append((type(error).__name__, str(error)))
    again = comm.group([2, 1, 0])
    return seen, float(again.all_reduce(np.ones(1))[0])


def one_is_lost(order: list[int], victim: int) -> tuple[int | None, int | None, list[int]] | None:
    """Lose a rank of a group; return who is named, and who goes on in which order."""
    comm = hm.init(timeout_s=60)
    group = comm.group(order)
    if comm.rank == victim:
        os._exit(1)
    try:
        group.all_reduce(np.ones(8))
    except hm.LostRankError as error:
        rest = group.shrink()
        return error.rank, error.world_rank, rest.all_gather(np.array([comm.rank])).tolist()
    return None


def on_an_emulated_network(order: list[int]) -> tuple[list[list[float]], bool]:
    """Return the bandwidths of the links between the ranks of a group, by its numbers."""
    comm = hm.init(timeout_s=60)
    group = comm.group(order)
    links = {(int(link["src"]), int(link["dst"])): float(link["bandwidth"]) for link in group.topology.links}
    total = group.all_reduce(np.full(1000, comm.rank + 1.0))
    ranks = range(len(order))
    return [[links.get((a, b), 0.0) for b in ranks] for a in ranks], bool((total == 10).all())


def held() -> dict[str, int]:
    """Count what this process holds of the system."""
    return {
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": len(os.listdir("/proc/self/task")),
        "mappings": len(Path("/proc/self/maps").read_text().splitlines()),
        "KiB": int(Path("/proc/self/statm").read_text().split()[1]) * 4,
    }


def many_at_once(rounds: int, groups: int) -> tuple[list[dict[str, int]], int]:
    """Hold many groups at a time, use each by all there is, and close them; return what is held after each round, and
    how many KiB the first ones took while they were open."""
    comm = hm.init(timeout_s=60)
    n, seen, open_kib = comm.rank_count, [], 0
    before = held()["KiB"]
    for _ in range(rounds):
        comm.barrier()
        made = [comm.group([(first + 1 + k) % n for k in range(n)]) for first in range(groups)]
        for group in made:
            pending = group.start_all_reduce(np.ones(1 << 14, np.float32))
            x = np.zeros(1 << 10, np.float32)
            sending = group.start_send(x, (group.rank + 1) % n)
            group.recv(x, (group.rank - 1) % n)
            sending.wait()
            pending.wait()
        open_kib = open_kib or held()["KiB"] - before
        for group in made:
            group.close()
        comm.barrier()
        seen.append(held())
    return seen, open_kib
