# SPDX-License-Identifier: Apache-2.0
"""Schedules synthesized for exactly one topology, as the planner's candidates: matched, and packed into spanning trees.

Where one switch joins all ranks, or every two have a link, published algorithms are optimal and nothing
is made, but for one root where few ranks have a link to each other: trees."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from hemiola._core import Collective, Schedule, Topology, synthesize, synthesize_forest, with_joined_ways
from hemiola._core.algorithms import all_gather_bruck
from hemiola.algorithms import Candidate, Task
from hemiola.errors import ArgumentError
from hemiola.planner.budget import CHEAP, IN_CHUNKS, IN_TREES, Searches
from hemiola.planner.outcome import LeftOut, NothingMadeError, too_many
from hemiola.planner.question import Question, is_uneven
from hemiola.synthesis.full_mesh import is_full_mesh
from hemiola.synthesis.limits import check_memory

_WITH_ONE_ROOT = ("broadcast", "reduce")
_FOREST_KINDS = ("all_reduce", "all_gather", "reduce_scatter", *_WITH_ONE_ROOT)
#: Ranks and switches up to which trees are packed from every rank. An all-reduce on more goes up and down the same
#: trees. Packing takes up to the fifth power of these, so that larger ones would spend the budget for nothing.
_MOST_VERTICES_OF_FOREST = 48
#: Of a broadcast or a reduce where every two ranks have a link, so that matching and packing are quick.
_MOST_RANKS_OF_MESH_OF_ONE_ROOT = 16
#: Bandwidths that differ by less are one.
_ALIKE = 1 + 1e-9
#: Searches for one schedule at most, of which the best counts: those after the first choose by lot, which on small
#: networks is worth some percent. Only cheap ones are repeated.
_MOST_TRIALS = 4
#: Chunks per rank that are tried; of a broadcast and a reduce, in all, since only many of them fill a long way.
_CHUNKS = {
    "all_reduce": (1, 4, 16),
    "all_gather": (1, 4, 16),
    "reduce_scatter": (1, 4, 16),
    "broadcast": (1, 4, 16, 64, 256, 1024),
    "reduce": (1, 4, 16, 64, 256, 1024),
    "scatter": (1, 4, 16),
    "gather": (1, 4, 16),
    "all_to_all": (1, 4, 16),
}
#: Chunks down each tree; of trees from one root, which are few, more fit a plan.
_PIECES, _PIECES_OF_ONE_ROOT = (2, 8, 32), (16, 64, 256)
#: Below, few pieces are tried where only one number can be, and no more chunks than this.
_SMALL_BUFFER, _MOST_CHUNKS_OF_SMALL = 4 << 20, 256
#: Bytes of a chunk; smaller ones, beyond the fewest, fill little beside the cost of messages, and are longer to find.
_LEAST_CHUNK = 64
#: The name of an all-reduce in one shot: an all-gather of whole buffers, with scratch slots for them.
ONE_SHOT = "one_shot"
#: Times the lower bound that bringing all buffers to a rank may take: beyond, adding up on the way is faster.
_MOST_ONE_SHOT_PORT = 2.0


def synthesized(question: Question) -> Iterator[Candidate | LeftOut]:
    """List what is synthesized for a topology with the budget of a race, and what is left out.

    Their formula is the lower bound, since only a simulation knows how near they come to it: they are made and
    simulated first, one after the other, until one is as good as the bound. Where ranks are slow, schedules are
    made for links as slow as they are now, and as if all were fast: the one with more paths round the slow links is
    not the better one everywhere. So are they where paths lie side by side: for these as one link, and apart.
    """
    for network, networks in _networks(question):
        yield from _matched(network, question, networks)
        yield from _forests(network, question)


def synthesized_if_cheap(question: Question) -> Iterator[Candidate | LeftOut]:
    """List the same with twice as many chunks or pieces, to be made where the search is cheap beside what is left."""
    for network, networks in _networks(question):
        yield from _matched(network, question, networks, times=2)
        yield from _forests(network, question, times=2)


def _networks(question: Question) -> Iterator[tuple[_Network, int]]:
    """List the networks that schedules are made for, and how many there may be."""
    task = question.task
    networks = [_Network(question.topology)]
    if any(factor > _ALIKE for factor in task.conditions.slow_ranks.values()):
        networks.insert(0, _Network(as_slow_as_now(question.topology, task), ", of slow links"))
    if with_joined_ways(question.topology, task.nbytes).link_count < question.topology.link_count:
        networks += [replace(one, note=f"{one.note}, of joined links", joins=True) for one in networks]
    for network in networks:
        if is_uneven(network.topology) or _is_small_mesh_of_one_root(network.topology, task):
            yield network, len(networks)


@dataclass(frozen=True)
class _Network:
    """A topology that schedules are made for; its ways side by side may be joined for chunks of a size."""

    topology: Topology
    note: str = ""
    joins: bool = False

    def seen_by(self, task: Task, chunks: int) -> Topology:
        """Return it as chunks of so many see it, in all of one root and else a rank."""
        shares = 1 if task.kind in _WITH_ONE_ROOT else task.rank_count
        return (
            with_joined_ways(self.topology, task.nbytes / (shares * chunks)) if self.joins else self.topology
        )


def as_slow_as_now(topology: Topology, task: Task) -> Topology:
    """Return it with the links of ranks that are slow as slow as they are; itself where none is."""
    if not task.conditions.slow_ranks:
        return topology
    slower: dict[int | tuple[int, int] | str, float] = {
        rank: factor for rank, factor in task.conditions.slow_ranks.items()
    }
    return topology.degraded(slower)


def one_shot(question: Question) -> Iterator[Candidate]:
    """List it for buffers so small that latency decides: one all-gather's instead of a reduce-scatter's and its own.

    Where messages are dear, the all-gather of fewest messages, too."""
    task, topology, bound_s = question.task, question.topology, question.bound_s
    n = task.rank_count
    if task.nbytes == 0 or n - 1 > buffers_in_time(topology, task.nbytes, bound_s):
        return
    count = 2 * n * n  # aside and back, n - 1 parts to each rank, and n - 1 additions there
    run = partial(question.searches.run, ONE_SHOT, count)
    quickest = with_joined_ways(topology, 0)  # of links side by side the quickest alone
    networks = [(topology, "")]
    if quickest.link_count < topology.link_count:
        networks.append((quickest, "quickest links"))
    for network, variant in networks:
        generate = partial(run, partial(_one_shot, network, task), ONE_SHOT)
        yield Candidate(ONE_SHOT, variant, bound_s, count, generate)
    if "dear messages" in question.traits:
        yield Candidate(ONE_SHOT, "bruck", bound_s, count, partial(one_shot_of, all_gather_bruck, n))


def one_shot_of(gather: Callable[[int], Schedule], rank_count: int) -> Schedule:
    """Make an all-reduce of an all-gather of whole buffers; there is none of more ranks than have scratch slots."""
    try:
        return gather(rank_count).one_shot_all_reduce()
    except ArgumentError as error:
        raise NothingMadeError(str(error)) from error


def buffers_in_time(topology: Topology, nbytes: int, bound_s: float) -> float:
    """Return how many whole buffers the slowest port may receive before adding up on the way is faster."""
    links, n = np.asarray(topology.links), topology.rank_count
    into = np.bincount(links["dst"], links["bandwidth"], minlength=n)[:n]
    return float(_MOST_ONE_SHOT_PORT * bound_s * into.min() / nbytes)


def _one_shot(topology: Topology, task: Task) -> Schedule:
    gather = replace(task, kind="all_gather", nbytes=task.nbytes * task.rank_count)
    return _search(topology, gather, 1).one_shot_all_reduce()


def _is_small_mesh_of_one_root(topology: Topology, task: Task) -> bool:
    """Whether trees may be worth more than published broadcasts, which know one port, where every two have a link."""
    is_small = 3 <= task.rank_count <= _MOST_RANKS_OF_MESH_OF_ONE_ROOT
    return is_small and task.kind in _WITH_ONE_ROOT and is_full_mesh(topology)


def _transfer_count(task: Task, chunks: int) -> int:
    """Every chunk reaches, or collects, each other rank once; an all-reduce does both.

    Where a chunk has one destination this is the least: it may pass others on its way.
    """
    others = task.rank_count - 1
    if task.kind in ("broadcast", "reduce", "scatter", "gather"):
        return others * chunks
    once = task.rank_count * others * chunks
    return 2 * once if task.kind == "all_reduce" else once


def _matched(network: _Network, question: Question, networks: int, *, times: int = 1) -> Iterator[Candidate]:
    task, searches, least_chunks = question.task, question.searches, question.least_chunks
    unit = "chunks" if task.kind in _WITH_ONE_ROOT else "chunks a rank"
    most_chunks = _MOST_CHUNKS_OF_SMALL if task.nbytes < _SMALL_BUFFER else math.inf
    if task.nbytes > 0:
        # A few chunks from one root are quick to find, and the best number of them depends on where links lead.
        few = _CHUNKS[task.kind][1 if task.kind in _WITH_ONE_ROOT else 0]
        fewest = max(few, least_chunks)
        shares = 1 if task.kind in _WITH_ONE_ROOT else task.rank_count
        most_chunks = min(most_chunks, max(fewest, task.nbytes // (shares * _LEAST_CHUNK)))
    is_switched_exchange = task.kind == "all_to_all" and network.topology.switch_count > 0
    source = "all_to_all_behind_switches" if is_switched_exchange else task.kind
    tried = [times * one for one in _CHUNKS[task.kind]]
    for chunks in (one for one in tried if least_chunks <= one <= most_chunks):
        variant, count = f"{chunks} {unit}{network.note}", _transfer_count(task, chunks)
        search = partial(_search, network.seen_by(task, chunks), task, chunks, searches)
        least = IN_CHUNKS * count
        run = partial(searches.run, at_least=least, networks=networks, only_if_cheap=times > 1)
        generate = cache(partial(run, f"synthesized ({variant})", chunks, search, source))
        yield Candidate("synthesized", variant, question.bound_s, count, generate, is_searched=True)


def _forests(network: _Network, question: Question, *, times: int = 1) -> Iterator[Candidate | LeftOut]:
    task, searches = question.task, question.searches
    if task.kind not in _FOREST_KINDS:
        return
    has_one_root = task.kind in _WITH_ONE_ROOT
    topology, note = network.topology, network.note
    vertices = topology.rank_count + topology.switch_count
    most = _MOST_VERTICES_OF_FOREST * searches.effort**0.25
    is_large = not has_one_root and vertices > most
    if is_large and task.kind != "all_reduce":
        if times > 1:
            return
        yield LeftOut(f"forest{note}", too_many(vertices, "ranks and switches", most))
        return
    # Each number of pieces packs anew. Where one takes the budget, it is to be the one that suits the buffer. Another
    # one counts as so many times larger, so that it is packed only where that is cheap.
    counts = _PIECES_OF_ONE_ROOT if has_one_root else _PIECES
    in_order = counts if task.nbytes < _SMALL_BUFFER else counts[::-1]
    for size, of_size in zip((1, 4, 16), in_order, strict=True):
        pieces = times * of_size
        seen = network.seen_by(task, pieces)
        plant = partial(_plant, seen, task, pieces, up_and_down_only=is_large)
        count = _transfer_count(task, pieces)
        label, source = f"forest ({pieces} pieces{note})", "forest_of_one_root" if has_one_root else "forest"
        run = partial(searches.run, at_least=IN_TREES * count, only_if_cheap=times > 1)
        generate = cache(partial(run, label, size, plant, source))
        yield Candidate(
            "forest", f"{pieces} pieces{note}", question.bound_s, count, generate, is_searched=True
        )


def _search(topology: Topology, task: Task, chunks: int, searches: Searches | None = None) -> Schedule:
    """Search for a schedule, several times where that is cheap beside what is left of the budget, if there is one.

    In this thread, so that its budget pays.
    """
    n = task.rank_count
    shares = {"broadcast": 1, "reduce": 1, "all_to_all": n * n}.get(task.kind, n)
    collective = Collective.make(task.kind, n, shares * chunks, root=task.root)
    if searches is not None and searches.effort > 1:  # with less, the budget ends at a third of a GB
        try:
            check_memory(collective, None)
        except ArgumentError as error:
            raise NothingMadeError(str(error)) from error
    found = synthesize(
        topology,
        collective,
        nbytes=task.nbytes,
        latency="pipelined",
        seed=0,
        trials=1 if searches is None else _MOST_TRIALS,
        threads=1,
        timed=True,
        operations=0 if searches is None else round(CHEAP * searches.left),
        progress=None,
    )
    if searches is not None:
        searches.repeated(found.trials)
    return found.schedule


def _plant(topology: Topology, task: Task, pieces: int, *, up_and_down_only: bool) -> Schedule:
    """Make a forest; there is none where links are not what it needs, one-way ones up and down."""
    try:
        return synthesize_forest(
            topology,
            task.kind,
            trees=0,
            pieces=pieces,
            nbytes=task.nbytes,
            root=task.root,
            up_and_down_only=up_and_down_only,
        ).schedule
    except ArgumentError as error:
        raise NothingMadeError(str(error)) from error
