"""Schedules synthesized for exactly one topology, as the planner's candidates: matched, and packed into spanning trees.

Where one switch joins all ranks, or every two have a link, published algorithms are optimal and nothing
is made, but for one root where few ranks have a link to each other: trees."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial

import numpy as np

from hemiola._core import Schedule, Topology, synthesize_forest
from hemiola.algorithms import Candidate, Task
from hemiola.algorithms.task import given
from hemiola.errors import ArgumentError
from hemiola.planner.outcome import LeftOut, NothingMadeError, too_many
from hemiola.synthesis import search
from hemiola.synthesis.full_mesh import is_full_mesh

_WITH_ONE_ROOT = ("broadcast", "reduce")
_FOREST_KINDS = ("all_reduce", "all_gather", "reduce_scatter", *_WITH_ONE_ROOT)
#: Of one candidate of one root behind switches: about a second. And of all together, transfers times links between
#: ranks, over the fourth root of the chunks. Many chunks at once are found faster.
_MOST_TRANSFERS_OF_ONE_ROOT, _MOST_WORK_OF_ONE_ROOT = 150_000, 4_000_000_000
#: Of all others together there, each counted once more for so many ranks: about a second. Both halves of an all-reduce
#: are found at once.
_MOST_SWITCHED_TRANSFERS, _RANKS_PER_TRANSFER = 600_000, 512
#: The work for each of a small buffer there. Its chunks are under way most of the time. Channels that wait for faster
#: ones are looked at more often, on hosts four to seven times. The fewest chunks count less, since more seldom come
#: nearer, and of all others none may.
_OF_SMALL, _OF_SMALL_IN_MORE_CHUNKS = 2, 4
#: Of all together where no switch is on the way, which makes them cheaper to find by far.
_MOST_TRANSFERS_WITHOUT_SWITCHES = 2_200_000
#: Of a forest, of which there are three at most and whose transfers cost less to make than matched ones.
_MOST_FOREST_TRANSFERS = 300_000
#: Beyond, packing trees from every rank takes longer than a plan may.
_MOST_VERTICES_OF_FOREST = 48
#: The same of trees that an all-reduce goes up and down, and of trees from one root.
_MOST_RANKS_UP_AND_DOWN = 256
#: The same, ranks times links: up to 96 ranks of a full mesh, half a second, of which 128 take 2.
_MOST_LINKS_UP_AND_DOWN = 1_000_000
#: Ranks times links from which on, if a rank is late, each packing of many takes half a second or more beside the
#: schedules around that rank.
_MOST_LINKS_BESIDE_LATE = 8_000
_MOST_VERTICES_OF_ONE_ROOT = 96
#: Trees from one root where no switch is on the way, ranks times links: 256 ranks of a torus take 0.4 s, 64 ranks of a
#: full mesh a second. Where not all numbers of pieces fit in, trees are packed once.
_MOST_PACKED_LINKS = 400_000
#: Of a broadcast or a reduce where every two ranks have a link, so that matching and packing are quick.
_MOST_RANKS_OF_MESH_OF_ONE_ROOT = 16
#: Bandwidths that differ by less are one.
_ALIKE = 1 + 1e-9
#: Searches for one schedule, of which the best counts, as far as together they take no more than this share of all:
#: those after the first choose by lot, which on small networks is worth some percent. Where all ranks want all chunks,
#: two as far as all of them together fit.
_MOST_TRIALS, _SHARE_OF_TRIALS = 4, 0.05
#: Chunks per rank that are tried; of a broadcast and a reduce, in all, since only many of them fill a long way.
_CHUNKS = {
    "all_reduce": (1, 4, 16),
    "all_gather": (1, 4, 16),
    "reduce_scatter": (1, 4, 16),
    "broadcast": (4, 16, 64, 256, 1024),
    "reduce": (4, 16, 64, 256, 1024),
    "scatter": (1, 4, 16),
    "gather": (1, 4, 16),
    "all_to_all": (1, 4, 16),
}
#: The collectives in which all ranks want all chunks, or have a part of them, and those in which every chunk has its
#: own destination.
_FLOODS = ("all_reduce", "all_gather", "reduce_scatter")
_WITH_WAYS = ("scatter", "gather", "all_to_all")
#: Of these, chunks that go their ways, times links between ranks, those through switches counted one by one: one to
#: two seconds. Where all ways begin or end at one rank, chunks wait there. So one of K a rank takes the root of K
#: times as long. In an all-to-all many ways are found at once.
_MOST_WAY_WORK = {"scatter": 280_000_000, "gather": 280_000_000, "all_to_all": 8_000_000}
#: The same where no switch is on the way: an all-to-all of 200 ranks with four links each is about a second.
_MOST_WAYS_WITHOUT_SWITCHES, _MOST_WAY_LINKS_WITHOUT_SWITCHES = 40_000, 200_000
#: Of a scatter or a gather there, whose ways all begin or end at one rank, of all together: about a second.
_MOST_LINKS_FROM_ONE_ROOT = 10_000_000
#: Chunks down each tree; of trees from one root, which are few, more fit a plan.
_PIECES, _PIECES_OF_ONE_ROOT = (2, 8, 32), (16, 64, 256)
#: Below, few pieces are tried where only one number can be, and no more chunks than this.
_SMALL_BUFFER, _MOST_CHUNKS_OF_SMALL = 4 << 20, 256
#: Bytes of a chunk; smaller ones, beyond the fewest, fill little beside the cost of messages, and are longer to find.
_LEAST_CHUNK = 64
#: The name of an all-reduce in one shot: an all-gather of whole buffers, with scratch slots for them.
ONE_SHOT = "one_shot"
#: Of it; 270 ranks, about a tenth of a second to make and simulate.
_MOST_ONE_SHOT_TRANSFERS = 150_000
#: Times the lower bound that bringing all buffers to a rank may take: beyond, adding up on the way is faster.
_MOST_ONE_SHOT_PORT = 2.0


def synthesized(
    topology: Topology,
    task: Task,
    bound_s: float,
    effort: float = 1.0,
    *,
    least_chunks: int = 1,
    is_searched: bool = True,
) -> list[Candidate | LeftOut]:
    """List the schedules synthesized for a topology, with so many times the usual effort, and those left out.

    Their formula is the lower bound, since only a simulation knows how near they come to it: they are made and
    simulated first, one after the other, until one is as good as the bound. Where ranks are slow, schedules are made
    for links as slow as they are now, and as if all were fast: the one with more paths round the slow links is not the
    better one everywhere. Fewer than `least_chunks` are not tried. Neither schedules nor forests are searched for
    unless `is_searched`; schedules around a late rank, or in one shot, take no search.
    """
    return [
        *(_searched(topology, task, bound_s, effort, least_chunks) if is_searched else []),
        *_one_shots(topology, task, bound_s, effort),
    ]


def _searched(
    topology: Topology, task: Task, bound_s: float, effort: float, least_chunks: int
) -> Iterator[Candidate | LeftOut]:
    networks = [(topology, "")]
    if any(factor > _ALIKE for factor in task.conditions.slow_ranks.values()):
        networks.append((as_slow_as_now(topology, task), ", of slow links"))
    shares = [effort / len(networks)] * len(networks)
    if len(networks) == 2 and not _fits(topology, task, shares[0], least_chunks):
        shares = [effort, 0.0]  # half is too little for either; as if nobody were slow takes less to find
    for (network, note), share in zip(networks, shares, strict=True):
        if is_uneven(network) or _is_small_mesh_of_one_root(network, task):
            yield from _matched(network, task, bound_s, note, share, least_chunks)
            yield from _forests(network, task, bound_s, note, effort)


def as_slow_as_now(topology: Topology, task: Task) -> Topology:
    """Return it with the links of ranks that are slow as slow as they are."""
    slower: dict[int | tuple[int, int] | str, float] = {
        rank: factor for rank, factor in task.conditions.slow_ranks.items()
    }
    return topology.degraded(slower)


def _fits(topology: Topology, task: Task, effort: float, least_chunks: int) -> bool:
    """Say whether anything is matched with so much effort; yes where matching it would be how to tell."""
    return task.kind in _WITH_WAYS or any(
        isinstance(one, Candidate) for one in _matched(topology, task, 0.0, "", effort, least_chunks)
    )


def _one_shots(topology: Topology, task: Task, bound_s: float, effort: float) -> Iterator[Candidate]:
    """For buffers so small that latency decides: one all-gather's instead of a reduce-scatter's and an all-gather's."""
    n = task.rank_count
    count = 2 * n * n  # aside and back, n - 1 parts to each rank, and n - 1 additions there
    is_small = task.nbytes > 0 and count <= _MOST_ONE_SHOT_TRANSFERS * effort
    if task.kind != "all_reduce" or not is_small or not is_uneven(topology):
        return
    links = np.asarray(topology.links)
    into = np.bincount(links["dst"], links["bandwidth"], minlength=n)[:n]
    if task.nbytes * (n - 1) > _MOST_ONE_SHOT_PORT * bound_s * into.min():
        return
    yield Candidate(ONE_SHOT, "", bound_s, count, partial(_one_shot, topology, task))


def _one_shot(topology: Topology, task: Task) -> Schedule:
    gather = replace(task, kind="all_gather", nbytes=task.nbytes * task.rank_count)
    return _search(topology, gather, 1, 1).one_shot_all_reduce()


def _is_small_mesh_of_one_root(topology: Topology, task: Task) -> bool:
    """Whether trees may be worth more than published broadcasts, which know one port, where every two have a link."""
    is_small = 3 <= task.rank_count <= _MOST_RANKS_OF_MESH_OF_ONE_ROOT
    return is_small and task.kind in _WITH_ONE_ROOT and is_full_mesh(topology)


def is_uneven(topology: Topology) -> bool:
    """Whether ranks are joined neither by one switch nor by a link for each pair, all of one speed."""
    n, links = topology.rank_count, np.asarray(topology.links)
    if n < 3 or len(links) == 0:
        return False
    if topology.switch_count == 0:
        pairs = set(zip(links["src"].tolist(), links["dst"].tolist(), strict=True))
        return len(pairs) < n * (n - 1) or bool((links["bandwidth"] != links["bandwidth"][0]).any())
    return topology.switch_count > 1


def _transfer_count(task: Task, chunks: int) -> int:
    """Every chunk reaches, or collects, each other rank once; an all-reduce does both.

    Where a chunk has one destination this is the least: it may pass others on its way.
    """
    others = task.rank_count - 1
    if task.kind in ("broadcast", "reduce", "scatter", "gather"):
        return others * chunks
    once = task.rank_count * others * chunks
    return 2 * once if task.kind == "all_reduce" else once


def _matched(
    topology: Topology, task: Task, bound_s: float, note: str, effort: float, least_chunks: int
) -> Iterator[Candidate | LeftOut]:
    links = topology.link_count
    if (
        task.kind == "all_to_all"
        and topology.switch_count == 0
        and task.rank_count * links > _MOST_WAY_LINKS_WITHOUT_SWITCHES * effort
    ):
        most = _MOST_WAY_LINKS_WITHOUT_SWITCHES * effort
        yield LeftOut(
            f"synthesized{note}", too_many(task.rank_count * links, "links to look at from all ranks", most)
        )
        return
    what, per_transfer, left = _room_to_match(topology, task, effort)
    total, links_left = left, effort * _MOST_LINKS_FROM_ONE_ROOT
    has_switches = topology.switch_count > 0
    has_one_end = task.kind in ("scatter", "gather")
    unit = "chunks" if task.kind in _WITH_ONE_ROOT else "chunks a rank"
    most_chunks = _MOST_CHUNKS_OF_SMALL if task.nbytes < _SMALL_BUFFER else math.inf
    if task.nbytes > 0:
        shares = 1 if task.kind in _WITH_ONE_ROOT else task.rank_count
        fewest = max(_CHUNKS[task.kind][0], least_chunks)
        most_chunks = min(most_chunks, max(fewest, task.nbytes // (shares * _LEAST_CHUNK)))
    is_small_flood = task.kind in _FLOODS and has_switches and task.nbytes < _SMALL_BUFFER
    fitting: list[tuple[int, str, int, float]] = []  # chunks, their name, transfers, work
    for chunks in (one for one in _CHUNKS[task.kind] if least_chunks <= one <= most_chunks):
        variant = f"{chunks} {unit}{note}"
        count = _transfer_count(task, chunks)
        work = count * per_transfer * (math.isqrt(chunks) if has_one_end and has_switches else 1)
        if is_small_flood:
            work *= _OF_SMALL if chunks == _CHUNKS[task.kind][0] else _OF_SMALL_IN_MORE_CHUNKS
        limits: list[tuple[float, str, float]] = []
        if task.kind in _WITH_ONE_ROOT and has_switches:
            work /= (chunks / 4) ** 0.25
            limits.append((count, "transfers", effort * _MOST_TRANSFERS_OF_ONE_ROOT))
        limits.append((work, what, left))
        looked_at = chunks * task.rank_count * links if has_one_end and not has_switches else 0
        limits.append((looked_at, "links to look at from the root", links_left))
        passed = [limit for limit in limits if limit[0] > limit[2]]
        if passed:
            yield LeftOut(f"synthesized ({variant})", too_many(*passed[0]))
            continue
        left, links_left = left - work, links_left - looked_at
        fitting.append((chunks, variant, count, work))
    # The remaining budget would do for all of it once more; elsewhere a second search is not known to be worth its
    # time.
    is_twice = task.kind in _FLOODS and sum(work for *_, work in fitting) <= left
    for chunks, variant, count, work in fitting:
        trials = min(_MOST_TRIALS, max(2 if is_twice else 1, int(_SHARE_OF_TRIALS * total / work)))
        generate = partial(_search, topology, task, chunks, trials)
        if task.kind in _WITH_WAYS:
            schedule = generate()
            count, generate = schedule.transfer_count, partial(given, schedule)
        yield Candidate("synthesized", variant, bound_s, count, generate, is_searched=True)


def _room_to_match(topology: Topology, task: Task, effort: float) -> tuple[str, float, float]:
    """Return what a search's work is counted in, how much of it a transfer is, and how much there may be."""
    with_ways = task.kind in _WITH_WAYS
    if topology.switch_count == 0:
        most = _MOST_WAYS_WITHOUT_SWITCHES if with_ways else _MOST_TRANSFERS_WITHOUT_SWITCHES
        return "transfers", 1.0, effort * most
    if task.kind in _WITH_ONE_ROOT or with_ways:
        per_transfer = float(links_between_ranks(topology))
        most = _MOST_WAY_WORK[task.kind] if with_ways else _MOST_WORK_OF_ONE_ROOT
        return "transfers times links between ranks", per_transfer, effort * most
    per_transfer = 1 + task.rank_count / _RANKS_PER_TRANSFER
    if task.kind == "all_reduce":
        per_transfer /= 2
    what = f"transfers and as many again for each {_RANKS_PER_TRANSFER} ranks"
    return what, per_transfer, effort * _MOST_SWITCHED_TRANSFERS


def links_between_ranks(topology: Topology) -> int:
    """Count links between ranks, and pairs of ranks that only switches lie between."""
    n, links = topology.rank_count, np.asarray(topology.links)
    src, dst = links["src"].astype(np.int64), links["dst"].astype(np.int64)
    island = np.arange(n + topology.switch_count)  # of switches that are joined: the lowest of them
    inner = (src >= n) & (dst >= n)
    while (island[src[inner]] != island[dst[inner]]).any():
        lowest = np.minimum(island[src[inner]], island[dst[inner]])
        np.minimum.at(island, src[inner], lowest)
        np.minimum.at(island, dst[inner], lowest)
    up, down = (src < n) & (dst >= n), (src >= n) & (dst < n)
    size = len(island)
    through = np.bincount(island[dst[up]], minlength=size) * np.bincount(island[src[down]], minlength=size)
    return int(np.count_nonzero((src < n) & (dst < n)) + through.sum())


def _forests(
    topology: Topology, task: Task, bound_s: float, note: str, effort: float
) -> Iterator[Candidate | LeftOut]:
    if task.kind not in _FOREST_KINDS:
        return
    has_one_root = task.kind in _WITH_ONE_ROOT
    more = effort ** (
        1 / 4
    )  # packing takes up to the fifth power of the number of trees and links, seldom less than the cube
    vertices = topology.rank_count + topology.switch_count
    what, size = "ranks and switches", vertices
    most = more * (_MOST_VERTICES_OF_ONE_ROOT if has_one_root else _MOST_VERTICES_OF_FOREST)
    is_large = size > most
    is_long = size > most / more
    if has_one_root and topology.switch_count == 0:
        what, size = "ranks times links", topology.rank_count * topology.link_count
        most = _MOST_PACKED_LINKS * effort
        is_long, is_large = len(_PIECES_OF_ONE_ROOT) * size > most, size > most
    if is_large and (task.kind != "all_reduce" or topology.rank_count > _MOST_RANKS_UP_AND_DOWN * more):
        yield LeftOut(f"forest{note}", too_many(size, what, most))
        return
    rank_links = topology.rank_count * topology.link_count
    if is_large and not has_one_root and rank_links > _MOST_LINKS_UP_AND_DOWN * effort:
        most_links = _MOST_LINKS_UP_AND_DOWN * effort
        yield LeftOut(f"forest{note}", too_many(rank_links, "ranks times links", most_links))
        return
    if task.kind == "all_reduce" and len(task.late_ranks) == 1:
        is_long = is_long or rank_links > _MOST_LINKS_BESIDE_LATE * effort
    most_transfers = _MOST_FOREST_TRANSFERS * effort
    fitting = []
    for pieces in _PIECES_OF_ONE_ROOT if has_one_root else _PIECES:
        if (count := _transfer_count(task, pieces)) <= most_transfers:
            fitting.append(pieces)
        else:
            yield LeftOut(f"forest ({pieces} pieces{note})", too_many(count, "transfers", most_transfers))
    if is_long:  # packing takes longer than all else, and each number packs anew
        fitting = fitting[:1] if task.nbytes < _SMALL_BUFFER else fitting[-1:]
    for pieces in fitting:
        generate = partial(_plant, topology, task, pieces, most_transfers, up_and_down_only=is_large)
        count = _transfer_count(task, pieces)
        yield Candidate("forest", f"{pieces} pieces{note}", bound_s, count, cache(generate), is_searched=True)


def _search(topology: Topology, task: Task, chunks: int, trials: int) -> Schedule:
    # How many trials a tenth of a second allows differs from process to process.
    found = search(
        topology,
        task.kind,
        chunks,
        root=task.root,
        nbytes=task.nbytes,
        trials=trials,
        threads=1,
        progress=False,
    )
    return found.schedule


def _plant(
    topology: Topology, task: Task, pieces: int, most_transfers: float, *, up_and_down_only: bool
) -> Schedule:
    """Make a forest; there is none where links are not what it needs, one-way ones up and down."""
    try:
        schedule = synthesize_forest(
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
    if schedule.transfer_count > most_transfers:
        raise NothingMadeError(too_many(schedule.transfer_count, "transfers", most_transfers))
    return schedule
