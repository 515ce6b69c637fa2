# SPDX-License-Identifier: Apache-2.0
"""All-reduces around one late rank as the planner's candidates: on rails, in packed trees, and, for large networks, in
chunks that flood the links."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from hemiola._core import Schedule, Topology, busiest_link_s, estimate_by_steps_s
from hemiola.algorithms import Candidate, Task
from hemiola.algorithms.task import given
from hemiola.bounds import lower_bound
from hemiola.errors import ArgumentError
from hemiola.planner.budget import IN_TREES
from hemiola.planner.outcome import LeftOut, NothingMadeError, too_many
from hemiola.planner.question import Question
from hemiola.planner.synthesized import as_slow_as_now
from hemiola.synthesis.around import WHOLE, LateForest, Matched, late_rails, matched
from hemiola.synthesis.late_hosts import Hosts

#: Chunks down each tree, and where every two ranks have a link, so that nothing is to be searched for.
_PIECES, _PIECES_OF_FULL_MESH = (16, 64, 256), (4, 16, 64, 256)
#: Chunks of each rail on hosts with a late rank. Pieces of less than this for each rank of a host take a latency,
#: however small they are.
_PIECES_ON_RAILS, _LEAST_HOST_PIECE = (4, 16, 64, 256), 8 << 10
_MATCHED = "late_matched"
#: Chunks that are matched first; then as many as leave this share of the bound to filling the ways, where as many as
#: fit leave it no more than that.
_FEW_CHUNKS, _MOST_CHUNKS, _FILLING, _MOST_FILLING = (16, 64), 4096, 0.02, 0.8
#: Of small buffers no more, since chunks would be bytes.
_SMALL_BUFFER, _MOST_CHUNKS_OF_SMALL = 4 << 20, 256
#: Ranks and switches from which on what is made around the late rank may be enough: on smaller networks nothing else
#: takes long.
_MANY_VERTICES = 96
#: Of more ranks than this, schedules that know of nobody late take so many times their bound.
_MANY_RANKS, _MANY_OVER_BOUND = 500, 1.2
#: Less is no time after an arrival; and of the least time after it, a shorter wait hides too little of a reduction.
_LEAST_S, _LEAST_WAIT = 1e-12, 0.25


def around_late_rank(question: Question) -> Iterator[Candidate | LeftOut]:
    """List what knows of the late rank; it may be enough.

    Where one switch joins all ranks, `stars_around_late_rank` does.
    """
    topology, task = question.topology, question.task
    found = [*_on_hosts(question), *_on_late_rails(question)]
    are_hosts = _is_near(topology, task, found)
    if "full mesh" not in question.traits and not are_hosts:
        found += matched_around_late_rank(question)
    is_grid = topology.switch_count > 0 and task.grid is not None and not task.conditions.slow_ranks
    if is_grid:  # few trees may be what hosts do not come near
        found += _packed(question)
    is_large = topology.rank_count + topology.switch_count > _MANY_VERTICES
    is_enough = is_large and question.searches.effort <= 1 and (are_hosts or _is_near(topology, task, found))
    if is_enough:
        found.append(
            LeftOut("late_forest", "another schedule around the late rank comes near enough to the bound")
        )
    elif not is_grid:
        found += _packed(question)
    if is_enough and question.links_decide:
        question.is_enough = question.is_around_enough = True
    yield from found


def beside_late_rank(
    around: Sequence[Candidate], others: Sequence[Candidate]
) -> tuple[list[Candidate], list[LeftOut]]:
    """Leave out schedules that know of no late rank and are larger than the smallest one that does, which is enough."""
    most = min(one.transfer_count for one in around)
    reasons = {
        one.label: too_many(one.transfer_count, "transfers of which nobody is late", most)
        for one in others
        if one.transfer_count > most
    }
    kept = [one for one in others if one.transfer_count <= most]
    return kept, [LeftOut(label, reason) for label, reason in reasons.items()]


def _is_near(topology: Topology, task: Task, found: Sequence[Candidate | LeftOut]) -> bool:
    """Say whether one takes about as long after the arrival as an all-reduce of which nobody is late, or less.

    The largest is looked at. What others take at least is a bound; of many ranks they are not so near to it.
    """
    made = [one for one in found if isinstance(one, Candidate)]
    if not made:
        return False
    largest = max(made, key=lambda one: one.transfer_count).generate()
    late, slow = task.conditions.late, task.conditions.slow_ranks
    seconds, _ = estimate_by_steps_s(largest, topology, task.nbytes, late, slow)
    over = _MANY_OVER_BOUND if topology.rank_count > _MANY_RANKS else 1.0
    return seconds - task.delay_s <= over * _together_s(task)


@lru_cache(maxsize=8)
def _together_s(task: Task) -> float:
    """Return the lower bound where nobody is late."""
    assert task.topology is not None
    together = replace(task.conditions, late={})
    return lower_bound(task.topology, task.kind, task.nbytes, conditions=together).seconds


def _on_hosts(question: Question) -> Iterator[Candidate | LeftOut]:
    """On many hosts alike, or lines of a grid whose last dimension is switches, of all ranks as fast as others."""
    topology, task = question.topology, question.task
    per_host = _ranks_per_host(topology, task)
    if per_host is None or task.nbytes == 0 or any(factor > 1 for factor in task.conditions.slow.values()):
        return
    per_piece, hosts = 2 * topology.rank_count * per_host, None
    for pieces in _PIECES_ON_RAILS:
        if pieces > _PIECES_ON_RAILS[0] and task.nbytes < _LEAST_HOST_PIECE * pieces * per_host:
            return
        label = f"late_hosts ({pieces} pieces)"
        try:
            hosts = hosts or Hosts(topology, task.late_ranks[0], per_host)
            make = partial(hosts.schedule, pieces, task.nbytes)
            made = question.searches.run(label, pieces, make, "late_hosts", in_arrays=per_piece * pieces)
        except NothingMadeError as error:
            yield LeftOut(label, str(error))
            return
        except ArgumentError:
            return
        yield _of("late_hosts", f"{pieces} pieces", made, question)


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


def matched_around_late_rank(question: Question) -> Iterator[Candidate | LeftOut]:
    """List schedules of few chunks, and as many as bring the filling of ways down to a share of the bound, or as fit.

    Where ranks are slow, for links as slow as they are now. Nothing where the others reach each other through the late
    rank alone. Behind one switch, where formulas count, theirs is the time of the broadcast and a latency.
    """
    task, bound_s, searches = question.task, question.bound_s, question.searches
    network = as_slow_as_now(question.topology, task)
    most_chunks = _MOST_CHUNKS_OF_SMALL if task.nbytes < _SMALL_BUFFER else _MOST_CHUNKS
    after_s = max(bound_s - task.delay_s, _LEAST_S)
    if task.delay_s < _LEAST_WAIT * after_s:
        return

    def made(chunks: int) -> Matched:
        match = partial(matched, network, task.late_ranks[0], chunks, task.nbytes)
        return searches.run(f"{_MATCHED} ({chunks} chunks)", chunks, match, _MATCHED)

    filling, wanted = 0.0, 0
    for few in _FEW_CHUNKS:
        try:
            found = made(few)
        except NothingMadeError as error:
            yield LeftOut(f"{_MATCHED} ({few} chunks)", str(error))
            return
        except ArgumentError:
            return
        yield _of_matched(found, question)
        filling = few * (found.broadcast_s - after_s) / after_s  # as if all beyond the bound were that
        wanted = min(most_chunks, math.ceil(filling / _FILLING))
    if wanted <= _FEW_CHUNKS[-1]:
        return
    chunks = min(wanted, math.floor(searches.room(f"{_MATCHED} ({wanted} chunks)")))
    if chunks < wanted:
        yield LeftOut(f"{_MATCHED} ({wanted} chunks)", too_many(wanted, "chunks, as fewer ones took", chunks))
    if chunks > _FEW_CHUNKS[-1] and filling <= _MOST_FILLING * chunks:
        try:
            yield _of_matched(made(chunks), question)
        except NothingMadeError as error:
            yield LeftOut(f"{_MATCHED} ({chunks} chunks)", str(error))


def _of_matched(made: Matched, question: Question) -> Candidate:
    one = _of(_MATCHED, f"{made.schedule.chunk_count} chunks", made.schedule, question)
    if "switch" not in question.traits:
        return one
    after_s = made.broadcast_s + question.task.speed.latency_s
    return replace(one, formula_s=max(question.bound_s, question.task.delay_s + after_s))


def _packed(question: Question) -> Iterator[Candidate | LeftOut]:
    """Trees packed around the late rank.

    A delay too short for reducing everything in is long enough for a share of the buffer.
    """
    topology, task = question.topology, question.task
    is_made = "full mesh" in question.traits
    forest = LateForest(topology, task.late_ranks[0], task.nbytes)
    counts = _PIECES_OF_FULL_MESH if is_made else _PIECES
    source = "late_stars" if is_made else "late_forest"
    share, per_piece = 1.0, 2.0 * (task.rank_count - 1)

    def made(pieces: int, part: float) -> Schedule:
        make, at_least = partial(forest.schedule, pieces, part), IN_TREES * per_piece * pieces
        return question.searches.run(f"late_forest ({pieces} pieces)", 1, make, source, at_least=at_least)

    for pieces in counts:
        variant = f"{pieces} pieces"
        try:
            whole = made(pieces, 1.0)
            yield _of("late_forest", variant, whole, question)
            if pieces == counts[0]:
                share = reduced_in_the_wait(whole, topology, task) / WHOLE
            per_piece = whole.transfer_count / pieces
            if 0 < share < 1:
                variant = f"{pieces} pieces, {share:.2f} of the buffer"
                yield _of("late_forest", variant, made(pieces, share), question)
        except NothingMadeError as error:
            yield LeftOut(f"late_forest ({variant})", str(error))
            return
        except ArgumentError:  # the others reach each other through the late rank alone
            return


def _on_late_rails(question: Question) -> Iterator[Candidate | LeftOut]:
    """Where ranks of several hosts have a NIC each, in shares for NICs as slow as they are now."""
    topology, task = question.topology, question.task
    if topology.node_count in (1, topology.rank_count):
        return
    network = as_slow_as_now(topology, task)
    per_piece = 2 * topology.rank_count * (topology.rank_count // topology.node_count)
    for pieces in _PIECES_ON_RAILS:
        at_least = IN_TREES * per_piece * pieces
        make = partial(late_rails, network, task.late_ranks[0], pieces=pieces)
        label = f"late_rails ({pieces} pieces)"
        try:
            made = question.searches.run(label, pieces, make, "late_rails", at_least=at_least)
        except NothingMadeError as error:
            yield LeftOut(label, str(error))
            return
        except ArgumentError:
            return
        yield _of("late_rails", f"{pieces} pieces", made, question)


def _of(name: str, variant: str, made: Schedule, question: Question) -> Candidate:
    return Candidate(name, variant, question.bound_s, made.transfer_count, partial(given, made))


def reduced_in_the_wait(schedule: Schedule, topology: Topology, task: Task) -> int:
    """Return how many parts of `WHOLE` the others can do, before the late rank comes, of what they do before it sends:
    by the busiest link."""
    rows = np.asarray(schedule.transfers)
    before = rows[rows["step"] < rows["step"][rows["src"] == task.late_ranks[0]].min()]
    waiting = Schedule.from_transfers(schedule.collective, before)
    reduced_s = busiest_link_s(waiting, topology, task.nbytes, task.conditions.slow_ranks)
    return min(WHOLE, math.floor(WHOLE * task.delay_s / reduced_s)) if reduced_s > 0 else WHOLE
