"""Schedules made for exactly one topology, as the planner's candidates: matched and packed into spanning trees.

Where one switch joins all ranks, or every two have a link, published algorithms are optimal and nothing is made."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from hemiola._core import Schedule, Topology
from hemiola.candidates import Candidate, Task
from hemiola.errors import ArgumentError
from hemiola.synthesis import forest, search

_KINDS = ("all_reduce", "all_gather", "reduce_scatter")
#: Of one candidate, so that making and simulating all of them takes about as long as the published ones.
_MOST_TRANSFERS = 60_000
#: Beyond, packing trees takes longer than a plan may.
_MOST_VERTICES_OF_FOREST = 48
_CHUNKS_PER_RANK = (1, 4, 16)
_PIECES = (2, 8, 32)


def made_for_topology(topology: Topology, task: Task, bound_s: float) -> list[Candidate]:
    """List what is synthesized for a topology.

    Their formula is the lower bound, since only a simulation knows how near they come to it: they are simulated
    first.
    """
    if task.kind not in _KINDS or not _is_uneven(topology):
        return []
    return [*_matched(topology, task, bound_s), *_forests(topology, task, bound_s)]


def _is_uneven(topology: Topology) -> bool:
    """Whether ranks are joined neither by one switch nor by a link for each pair, all of one speed."""
    n, links = topology.rank_count, np.asarray(topology.links)
    if n < 3 or len(links) == 0:
        return False
    if topology.switch_count == 0:
        return len(np.unique(links[["src", "dst"]])) < n * (n - 1) or len(np.unique(links["bandwidth"])) > 1
    return topology.switch_count > 1


def _transfer_count(task: Task, chunks_per_rank: int) -> int:
    """Every chunk reaches, or collects, each other rank once; an all-reduce does both."""
    once = task.rank_count * (task.rank_count - 1) * chunks_per_rank
    return 2 * once if task.kind == "all_reduce" else once


def _matched(topology: Topology, task: Task, bound_s: float) -> Iterator[Candidate]:
    for chunks in _CHUNKS_PER_RANK:
        count = _transfer_count(task, chunks)
        if count <= _MOST_TRANSFERS:
            generate = partial(_search, topology, task, chunks)
            yield Candidate("synthesized", f"{chunks} chunks a rank", bound_s, count, generate)


def _forests(topology: Topology, task: Task, bound_s: float) -> Iterator[Candidate]:
    if topology.rank_count + topology.switch_count > _MOST_VERTICES_OF_FOREST:
        return
    for pieces in _PIECES:
        if _transfer_count(task, pieces) > _MOST_TRANSFERS:
            continue
        schedule = _plant(topology, task, pieces)
        if schedule is not None and schedule.transfer_count <= _MOST_TRANSFERS:
            count = schedule.transfer_count
            yield Candidate("forest", f"{pieces} pieces a tree", bound_s, count, partial(_given, schedule))


def _search(topology: Topology, task: Task, chunks: int) -> Schedule:
    # One trial: how many a tenth of a second allows differs from process to process.
    found = search(topology, task.kind, chunks, nbytes=task.nbytes, trials=1, threads=1, progress=False)
    return found.schedule


def _plant(topology: Topology, task: Task, pieces: int) -> Schedule | None:
    """Make a forest; None where a switch cannot be replaced by links between ranks."""
    try:
        return forest(topology, task.kind, pieces=pieces, nbytes=task.nbytes).schedule
    except ArgumentError:
        return None


def _given(schedule: Schedule) -> Schedule:
    return schedule
