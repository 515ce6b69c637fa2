"""All-reduces around one late rank as the planner's candidates: on rails, in packed trees, and, for large networks, in
chunks that flood the links."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from hemiola._core import Schedule, Topology, busiest_link_s, estimate_by_steps_s
from hemiola.algorithms import Candidate, Task
from hemiola.algorithms.task import given
from hemiola.bounds import lower_bound
from hemiola.errors import ArgumentError
from hemiola.planner.outcome import LeftOut, too_many
from hemiola.planner.synthesized import as_slow_as_now, links_between_ranks
from hemiola.synthesis.around import LateForest, Matched, late_rails, matched
from hemiola.synthesis.full_mesh import is_full_mesh
from hemiola.synthesis.late_hosts import Hosts

#: Of a forest around a late rank, which Python takes apart. Of one that reduces all where the delay is long enough.
#: And vertices, where no rank is slow and no rails are used. Each takes up to half a second.
_MOST_LATE_TRANSFERS, _MOST_LATE_TRANSFERS_OF_WHOLE = 40_000, 210_000
_MOST_VERTICES, _MOST_VERTICES_OF_LATE_FOREST = 96, 168
#: Of one on a large grid of switches, with as many chunks down each tree as the second number says, which is the first
#: one made there.
_MOST_LATE_TRANSFERS_OF_LARGE_GRID = 45_000
#: Chunks down each tree.
_PIECES = (16, 64, 256)
#: The same, and chunks down each tree, where every two ranks have a link, so that nothing is to be searched for.
_MOST_LATE_TRANSFERS_OF_FULL_MESH, _PIECES_OF_FULL_MESH = 150_000, (4, 16, 64, 256)
#: Chunks of each rail on hosts with a late rank, and transfers, which are quickly made: the most take 0.2 s.
_PIECES_ON_RAILS, _MOST_RAIL_TRANSFERS = (4, 16, 64, 256), 150_000
#: The same of hosts by the dozen: making and estimating these takes half a second. Pieces of less than this for each
#: rank of a host take a latency, however small they are.
_MOST_HOST_TRANSFERS, _LEAST_HOST_PIECE = 1_100_000, 8 << 10
#: Links of the late rank, each of which may lead to an owner of its own, times those of all: beyond, making trees to
#: all owners takes longer than a plan may. All pairs of 14 ranks of unequal links are about half a second.
_MOST_LATE_LINKS = 2_500
#: Chunks that are matched first; then as many as leave this share of the bound to filling the ways, where as many as
#: fit leave it no more than that.
_FEW_CHUNKS, _MOST_CHUNKS, _FILLING, _MOST_FILLING = (16, 64), 4096, 0.02, 0.8
#: Where trees are packed beside them, and of small buffers, no more.
_CHUNKS_BESIDE_TREES, _SMALL_BUFFER, _MOST_CHUNKS_OF_SMALL = 256, 4 << 20, 256
#: Of all that is matched together, both ways: about a second. Behind switches fewer, and times links between ranks,
#: over the fourth root of the chunks, no more than this.
_MOST_MATCHED_BEHIND_SWITCHES = 300_000
_MOST_MATCHED_TRANSFERS, _MOST_MATCHED_WORK = 1_400_000, 4_000_000_000
#: Where the matched schedule is good enough, larger schedules that know of no late rank only cost planning time.
_MOST_TRANSFERS_BESIDE = 100_000
#: Of more ranks than this, such schedules take so many times their bound.
_MANY_RANKS, _MANY_OVER_BOUND = 500, 1.2
#: Less is no time after an arrival; and of the least time after it, a shorter wait hides too little of a reduction.
_LEAST_S, _LEAST_WAIT = 1e-12, 0.25


@dataclass
class AroundLateRank:
    """The schedules made around a late rank, with so many times the usual effort.

    Attributes
    ----------
    found : candidates, and the ones left out.
    is_enough : bool, whether schedules that know of no late rank are longer, and so not worth the time to make them.
    """

    found: list[Candidate | LeftOut]
    is_enough: bool


def around_late_rank(topology: Topology, task: Task, bound_s: float, effort: float = 1.0) -> AroundLateRank:
    """Make schedules that know of the late rank, if there is one.

    Nothing where one switch joins all ranks: there an algorithm of the registry is at the bound, whichever rank is
    slow.
    """
    has_one = task.kind == "all_reduce" and len(task.late_ranks) == 1
    if not has_one or topology.rank_count < 3 or topology.switch_count == 1:
        return AroundLateRank([], False)
    on_hosts = [*_on_hosts(topology, task, bound_s, effort), *_on_late_rails(topology, task, bound_s)]
    are_hosts = _is_near(topology, task, on_hosts)
    is_large = topology.rank_count + topology.switch_count > _MOST_VERTICES
    is_slow, is_grid = bool(task.conditions.slow_ranks), _is_grid_of_switches(topology, task)
    has_few_trees = is_grid and not is_slow and _has_few_trees(task)
    flooded: list[Candidate | LeftOut] = []
    if not is_full_mesh(topology) and not are_hosts:
        most_chunks = _MOST_CHUNKS if is_large and not has_few_trees else _CHUNKS_BESIDE_TREES
        flooded += _matched(topology, task, bound_s, effort, most_chunks)
    packed: list[Candidate | LeftOut] = []
    if has_few_trees:
        packed += _packed(topology, task, bound_s, _MOST_VERTICES_OF_LATE_FOREST)
    found = [*on_hosts, *flooded, *packed]
    is_enough = is_large and effort <= 1 and (are_hosts or _is_near(topology, task, found))
    if not has_few_trees:
        # On other grids of switches packing takes up to five seconds.
        may_be_large = not (is_grid or is_slow or are_hosts or is_enough)
        most_vertices = _MOST_VERTICES_OF_LATE_FOREST if may_be_large else _MOST_VERTICES
        packed += _packed(topology, task, bound_s, most_vertices)
    return AroundLateRank([*on_hosts, *flooded, *packed], is_enough)


def _is_grid_of_switches(topology: Topology, task: Task) -> bool:
    return topology.switch_count > 0 and task.grid is not None


def _has_few_trees(task: Task) -> bool:
    """Say whether trees from a rank of a grid of switches, one for each slowest link's worth, are soon packed."""
    speeds = task.grid.bandwidth if task.grid is not None else ()
    transfers = 2 * task.rank_count * _PIECES[1] * sum(speeds) / min(speeds, default=1.0)
    return transfers <= _MOST_LATE_TRANSFERS_OF_LARGE_GRID


def beside_late_rank(found: Sequence[Candidate]) -> tuple[list[Candidate], list[LeftOut]]:
    """Leave out large schedules that know of no late rank, where those made around the late rank are enough."""
    kept = [one for one in found if one.transfer_count <= _MOST_TRANSFERS_BESIDE]
    reasons = {
        one.label: too_many(one.transfer_count, "transfers of which nobody is late", _MOST_TRANSFERS_BESIDE)
        for one in found
        if one.transfer_count > _MOST_TRANSFERS_BESIDE
    }
    return kept, [LeftOut(label, reason) for label, reason in reasons.items()]


def _is_near(topology: Topology, task: Task, found: Sequence[Candidate | LeftOut]) -> bool:
    """Say whether one takes about as long after the arrival as an all-reduce of which nobody is late, or less.

    The largest is looked at. What others take at least is a bound; of many ranks they are not so near to it.
    """
    made = [one for one in found if isinstance(one, Candidate)]
    if not made:
        return False
    largest = max(made, key=lambda one: one.transfer_count).generate()
    conditions = task.conditions
    seconds, _ = estimate_by_steps_s(largest, topology, task.nbytes, conditions.late, conditions.slow_ranks)
    together = replace(conditions, late={})
    bound_s = lower_bound(topology, task.kind, task.nbytes, conditions=together).seconds
    others_s = bound_s * (_MANY_OVER_BOUND if topology.rank_count > _MANY_RANKS else 1.0)
    return seconds - task.delay_s <= others_s


def _on_hosts(topology: Topology, task: Task, bound_s: float, effort: float) -> Iterator[Candidate | LeftOut]:
    """On many hosts alike, or lines of a grid whose last dimension is switches, of all ranks as fast as others."""
    per_host = _ranks_per_host(topology, task)
    if per_host is None or task.nbytes == 0 or any(factor > 1 for factor in task.conditions.slow.values()):
        return
    per_piece, hosts = 2.0 * topology.rank_count * per_host, None
    for pieces in _PIECES_ON_RAILS:
        if pieces > _PIECES_ON_RAILS[0] and task.nbytes < _LEAST_HOST_PIECE * pieces * per_host:
            return
        if per_piece * pieces > _MOST_HOST_TRANSFERS * effort:
            reason = too_many(per_piece * pieces, "transfers", _MOST_HOST_TRANSFERS * effort)
            yield LeftOut(f"late_hosts ({pieces} pieces)", reason)
            return
        try:
            hosts = hosts or Hosts(topology, task.late_ranks[0], per_host)
        except ArgumentError:
            return
        made = hosts.schedule(pieces, task.nbytes)
        per_piece = made.transfer_count / pieces
        yield Candidate("late_hosts", f"{pieces} pieces", bound_s, made.transfer_count, partial(given, made))


def _ranks_per_host(topology: Topology, task: Task) -> int | None:
    """Return of how many ranks hosts are, or the lines of a grid that only switches join, of its slowest links.

    Inside hosts every rank is brought the whole buffer, but between them its share alone: where the links of the former
    are no faster, other schedules around the late rank are.
    """
    if topology.node_count not in (1, topology.rank_count):
        return topology.rank_count // topology.node_count
    grid = task.grid
    if grid is None or len(grid.dims) < 2 or grid.wires[-1] != "switch":
        return None
    return math.prod(grid.dims[:-1]) if grid.bandwidth[-1] < min(grid.bandwidth[:-1]) else None


def _matched(
    topology: Topology, task: Task, bound_s: float, effort: float, most_chunks: int
) -> Iterator[Candidate | LeftOut]:
    """Of few chunks, and of as many as bring what filling the ways takes down to a share of the bound, or as fit.

    Where ranks are slow, for links as slow as they are now. Nothing where the others reach each other through the late
    rank alone.
    """
    network = as_slow_as_now(topology, task) if task.conditions.slow_ranks else topology
    room = _Room(network, effort)
    most_chunks = min(most_chunks, _MOST_CHUNKS_OF_SMALL) if task.nbytes < _SMALL_BUFFER else most_chunks
    after_s = max(bound_s - task.delay_s, _LEAST_S)
    if task.delay_s < _LEAST_WAIT * after_s:
        return
    filling, wanted = 0.0, 0
    for few in _FEW_CHUNKS:
        if (reason := room.lack(few)) is not None:
            yield LeftOut(f"late_matched ({few} chunks)", reason)
            return
        try:
            made = matched(network, task.late_ranks[0], few, task.nbytes)
        except ArgumentError:
            return
        room.take(few)
        yield _of_matched(made, bound_s)
        filling = few * (made.broadcast_s - after_s) / after_s  # as if all beyond the bound were that
        wanted = min(most_chunks, math.ceil(filling / _FILLING))
    if wanted <= _FEW_CHUNKS[-1]:
        return
    chunks = wanted
    if (reason := room.lack(wanted)) is not None:
        yield LeftOut(f"late_matched ({wanted} chunks)", reason)
        chunks = room.most_chunks()
    if chunks > _FEW_CHUNKS[-1] and filling <= _MOST_FILLING * chunks:
        yield _of_matched(matched(network, task.late_ranks[0], chunks, task.nbytes), bound_s)


def _of_matched(made: Matched, bound_s: float) -> Candidate:
    schedule = made.schedule
    label = f"{schedule.chunk_count} chunks"
    return Candidate("late_matched", label, bound_s, schedule.transfer_count, partial(given, schedule))


class _Room:
    """How much may be matched: transfers, and behind switches what looking for each of them takes."""

    def __init__(self, network: Topology, effort: float) -> None:
        self._others = network.rank_count - 1
        self._pairs = links_between_ranks(network) if network.switch_count else 0
        most = _MOST_MATCHED_BEHIND_SWITCHES if network.switch_count else _MOST_MATCHED_TRANSFERS
        self._transfers = most * effort
        self._work = _MOST_MATCHED_WORK * effort

    def lack(self, chunks: int) -> str | None:
        """Return why so many chunks are too many, if they are."""
        transfers, work = self._needs(chunks)
        if transfers > self._transfers:
            return too_many(transfers, "transfers", self._transfers)
        if work > self._work:
            return too_many(work, "transfers times links between ranks", self._work)
        return None

    def take(self, chunks: int) -> None:
        transfers, work = self._needs(chunks)
        self._transfers -= transfers
        self._work -= work

    def most_chunks(self) -> int:
        """Return how many there may be at most."""
        chunks = self._transfers / (2 * self._others)
        if self._pairs:
            chunks = min(chunks, (self._work / (2 * self._others * self._pairs * 4**0.25)) ** (4 / 3))
        return max(0, math.floor(chunks))

    def _needs(self, chunks: int) -> tuple[int, float]:
        transfers = 2 * self._others * chunks
        return transfers, transfers * self._pairs / (chunks / 4) ** 0.25


def _packed(
    topology: Topology, task: Task, bound_s: float, most_vertices: int
) -> Iterator[Candidate | LeftOut]:
    """Trees packed around the late rank.

    A delay too short for reducing everything in is long enough for a share of the buffer.
    """
    own_links = int(np.count_nonzero(np.asarray(topology.links)["src"] == task.late_ranks[0]))
    vertices, pairs = topology.rank_count + topology.switch_count, own_links * topology.link_count
    is_made = is_full_mesh(topology)
    can_search = vertices <= _MOST_VERTICES and pairs <= _MOST_LATE_LINKS
    if not is_made and vertices > most_vertices:
        yield LeftOut("late_forest", too_many(vertices, "ranks and switches", most_vertices))
        return
    if not is_made and pairs > _MOST_LATE_LINKS:
        reason = too_many(pairs, "pairs of a link of the late rank and any", _MOST_LATE_LINKS)
        yield LeftOut("late_forest", reason)
        return
    most_of_whole = _MOST_LATE_TRANSFERS_OF_FULL_MESH if is_made else _MOST_LATE_TRANSFERS_OF_WHOLE
    most_of_share = _MOST_LATE_TRANSFERS_OF_FULL_MESH if is_made else _MOST_LATE_TRANSFERS
    forest = LateForest(topology, task.late_ranks[0], task.nbytes)
    share, per_piece = 1.0, 0.0
    counts: Sequence[int] = _PIECES_OF_FULL_MESH if is_made else _PIECES
    if _is_grid_of_switches(topology, task) and not can_search:
        counts = _PIECES[1:]
    for pieces in counts:
        most = most_of_whole if share == 1 else most_of_share
        fits = per_piece * pieces <= most
        whole = _late_forest(forest, task, pieces, 1.0, most) if fits else None
        if whole is None:
            yield LeftOut("late_forest", f"with {pieces} pieces: none of at most {most:,} transfers")
            return
        yield _of_late_forest(whole, f"{pieces} pieces", bound_s)
        if not per_piece:
            per_piece = whole.transfer_count / pieces
            reduced_s = _busiest_in_the_wait(whole, topology, task)
            share = min(1.0, math.floor(64 * task.delay_s / reduced_s) / 64) if reduced_s > 0 else 1.0
        if not 0 < share < 1 or not can_search:
            continue
        if (partly := _late_forest(forest, task, pieces, share, most_of_share)) is not None:
            yield _of_late_forest(partly, f"{pieces} pieces, {share:.2f} of the buffer", bound_s)


def _on_late_rails(topology: Topology, task: Task, bound_s: float) -> Iterator[Candidate]:
    """Where ranks of several hosts have a NIC each, in shares for NICs as slow as they are now."""
    if topology.node_count in (1, topology.rank_count):
        return
    network = as_slow_as_now(topology, task) if task.conditions.slow_ranks else topology
    per_piece = 2 * topology.rank_count * (topology.rank_count // topology.node_count)
    for pieces in (pieces for pieces in _PIECES_ON_RAILS if per_piece * pieces <= _MOST_RAIL_TRANSFERS):
        try:
            made = late_rails(network, task.late_ranks[0], pieces=pieces)
        except ArgumentError:
            return
        yield Candidate("late_rails", f"{pieces} pieces", bound_s, made.transfer_count, partial(given, made))


def _of_late_forest(schedule: Schedule, variant: str, bound_s: float) -> Candidate:
    return Candidate("late_forest", variant, bound_s, schedule.transfer_count, partial(given, schedule))


def _late_forest(forest: LateForest, task: Task, pieces: int, share: float, most: int) -> Schedule | None:
    """Make one; None where it has more than `most` transfers, or where the others reach each other through the late
    rank alone."""
    if 2 * (task.rank_count - 1) * pieces > most:
        return None
    try:
        schedule = forest.schedule(pieces, share)
    except ArgumentError:
        return None
    return schedule if schedule.transfer_count <= most else None


def _busiest_in_the_wait(schedule: Schedule, topology: Topology, task: Task) -> float:
    """Return what the busiest link takes for what the others do before the late rank first sends."""
    rows = np.asarray(schedule.transfers)
    before = rows[rows["step"] < rows["step"][rows["src"] == task.late_ranks[0]].min()]
    waiting = Schedule.from_transfers(schedule.collective, before)
    return busiest_link_s(waiting, topology, task.nbytes, task.conditions.slow_ranks)
