# SPDX-License-Identifier: Apache-2.0
"""Schedules that keep ports busy where every two ranks are a hop apart, through one switch or by a link of their own.
Buffers go in parts that follow each other, so that a latency passes while the next part is sent."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np

from hemiola._core import Schedule
from hemiola._core.algorithms import all_gather_bruck, all_gather_direct, all_reduce_blueconnect
from hemiola.algorithms import Candidate, Task
from hemiola.algorithms.fewest_pieces import fewest_pieces
from hemiola.planner.budget import IN_SIMULATION, Searches
from hemiola.planner.on_grid import Steps, cheapest_factors
from hemiola.planner.outcome import LeftOut
from hemiola.planner.question import Question
from hemiola.planner.synthesized import ONE_SHOT, one_shot_of
from hemiola.synthesis.full_mesh import broadcast_through_all, reduce_through_all

#: Pieces of each share of a broadcast through all ranks, and parts of a direct all-reduce.
_PIECES, _PARTS = (1, 2, 4, 8, 16, 32, 64), (2, 4, 8, 16, 32, 64)
_IN_PARTS = "all_reduce_blueconnect"
#: Of the time of pipelined trees and of fewer pieces, which a formula has to promise where nothing is simulated. Trees
#: that a slow rank is a leaf of are faster than their formula, by a sixth where that was simulated.
_SHARE, _SHARE_BESIDE_SLOW = 0.95, 0.75
#: The least saving of more parts for their messages.
_LEAST_GAIN = 0.02

#: Seconds by formula, pieces, transfers, then the other costs of making one.
_Cut = TypeVar("_Cut", bound=tuple[float, int, int] | tuple[float, int, int, int])


@dataclass(frozen=True)
class _Hop:
    """What lies between two ranks: seconds of latency, seconds that a message costs a port, bytes per second of a port,
    and how many ports a rank has."""

    wires: str
    latency_s: float
    message_s: float
    bandwidth: float
    port_count: int

    @classmethod
    def of(cls, question: Question) -> _Hop:
        """Find it."""
        task, speed = question.task, question.task.speed
        if "switch" in question.traits:
            return cls("switch", speed.latency_s - speed.message_s, speed.message_s, speed.bandwidth, 1)
        link = np.asarray(question.topology.links)[0]
        slowest = max(task.conditions.slow_ranks.values(), default=1.0)
        bandwidth = float(link["bandwidth"]) / slowest
        latency_s, message_s = float(link["latency_s"]), float(link["message_s"])
        return cls("fully_connected", latency_s, message_s, bandwidth, task.rank_count - 1)

    def to_all_s(self, nbytes: float, rank_count: int) -> float:
        """Return how long a rank's ports are busy with sending so many bytes in all, as much to each other rank."""
        messages = (rank_count - 1) // self.port_count
        return messages * self.message_s + nbytes / self.port_count / self.bandwidth


def one_hop(question: Question) -> Iterator[Candidate | LeftOut]:
    """List these schedules, as far as their share goes.

    Published algorithms of one root know one port, and pay a latency for every level of a tree; a direct all-reduce
    waits for the last byte of its first half before it begins with the second.
    """
    hop = _Hop.of(question)
    is_all_reduce = question.task.kind == "all_reduce"
    if is_all_reduce:
        yield from _one_shots(question, hop)
    if question.messages_are_told:
        found = _in_parts if is_all_reduce else _through_all
        yield from found(question.task, hop, question.bound_s, question.searches)


def _one_shots(question: Question, hop: _Hop) -> Iterator[Candidate | LeftOut]:
    """List all-gathers of whole buffers, after which every rank adds up all: one latency instead of two. Direct, and
    where messages are dear, in several steps of fewer. Only those that may beat what is published by its formulas."""
    task, n = question.task, question.task.rank_count
    rival_s = min((one.formula_s for one in question.known), default=math.inf) - task.delay_s
    rounds, buffer_s = math.ceil(math.log2(n)), task.nbytes / hop.bandwidth
    if task.nbytes == 0:
        return
    direct_s = hop.latency_s + hop.to_all_s((n - 1) * task.nbytes, n)
    whole = [("direct", all_gather_direct, direct_s, direct_s)]
    if hop.message_s > 0 and hop.port_count == 1:
        # Messages of steps that follow each other may be sent while the first ones are on their way.
        bruck_s = rounds * hop.latency_s + (n - 1) * buffer_s
        whole.append(("bruck", all_gather_bruck, bruck_s, bruck_s + rounds * hop.message_s))
        if hop.latency_s + rounds * buffer_s < rival_s:
            yield from _multiplied(
                question, lambda size: hop.latency_s + (size - 1) * (hop.message_s + buffer_s)
            )
    count = 2 * n * n  # aside and back, n - 1 buffers to each rank, and n - 1 additions there
    if question.searches.excess(ONE_SHOT, count):
        return
    for variant, gather, least_s, seconds in whole:
        if least_s < rival_s:
            predicted_s = max(question.bound_s, task.delay_s + seconds)
            yield Candidate(ONE_SHOT, variant, predicted_s, count, partial(one_shot_of, gather, n))


def _multiplied(question: Question, step_s: Callable[[int], float]) -> Iterator[Candidate | LeftOut]:
    """List recursive multiplying by the factors whose steps take least together."""
    factors = cheapest_factors(question.task.rank_count, step_s)
    if len(factors) > 1:
        seconds = question.task.delay_s + sum(map(step_s, factors))
        steps = Steps(factors, ("switch",) * len(factors))
        yield steps.candidate(question, max(question.bound_s, seconds))


def _through_all(task: Task, hop: _Hop, bound_s: float, searches: Searches) -> Iterator[Candidate | LeftOut]:
    n, is_mesh = task.rank_count, hop.port_count > 1
    is_simulation = is_mesh and not task.conditions.slow_ranks and task.delay_s == 0 and hop.message_s == 0
    rival_s = bound_s if is_mesh else task.delay_s + _pipelined_trees_s(task, hop)
    share = _SHARE_BESIDE_SLOW if task.conditions.slow_ranks else _SHARE
    fitting = []
    for pieces in _PIECES:
        piece_s = hop.to_all_s(task.nbytes / pieces, n)
        lag = 1 if is_mesh or piece_s == 0 else min(pieces, 1 + math.ceil(hop.latency_s / piece_s))
        first_s = max(hop.latency_s + piece_s, lag * piece_s)  # until the first is handed on
        seconds = max(bound_s, task.delay_s + first_s + pieces * piece_s + hop.latency_s)
        count = pieces * (n - 1) ** 2
        excess = searches.excess("through_all", count)
        if not excess and not is_simulation and seconds > share * rival_s:
            excess = searches.excess("through_all", count, IN_SIMULATION["fluid"], later=True)
        if excess:
            yield LeftOut(f"through_all ({pieces} pieces)", excess)
            continue
        rival_s = min(rival_s, seconds)
        fitting.append((seconds, pieces, count, lag))
    found = _fewest(fitting, task)
    if found is not None:
        seconds, pieces, count, lag = found
        yield Candidate(
            "through_all",
            f"{pieces} pieces",
            seconds,
            count,
            partial(_made_through_all, task, pieces, lag),
            knows_topology=is_simulation,
            is_simulation=is_simulation,
        )


def _pipelined_trees_s(task: Task, hop: _Hop) -> float:
    """Return what the best number of chunks takes down a tree through a switch, a level for each bit of a rank."""
    whole_s = task.nbytes / hop.bandwidth
    levels_s = (math.ceil(math.log2(task.rank_count)) - 1) * (hop.latency_s + hop.message_s)
    return (math.sqrt(whole_s) + math.sqrt(levels_s)) ** 2 + hop.latency_s


def _fewest(fitting: Sequence[_Cut], task: Task) -> _Cut | None:
    """Return the one with the fewest pieces that is as good as the best, with what messages cost all ranks together."""
    return fewest_pieces(
        fitting, lambda one: one[0] + task.shared_message_s * one[2], itemgetter(1), delay_s=task.delay_s
    )


def _made_through_all(task: Task, pieces: int, lag: int) -> Schedule:
    make = broadcast_through_all if task.kind == "broadcast" else reduce_through_all
    return make(task.rank_count, task.root, pieces, lag)


def _in_parts(task: Task, hop: _Hop, bound_s: float, searches: Searches) -> Iterator[Candidate | LeftOut]:
    """K parts are scattered, then gathered in the same order: of b seconds each, max(2Kb, (K + 1)b + α) + α in all.

    That is [cho2019] in one dimension, told of a latency that lets no part be gathered before all are scattered:
    where the two are mixed, one late rank holds up what does not wait for it."""
    n = task.rank_count
    once = task.nbytes * (n - 1) / n

    def seconds(parts: int) -> float:
        part_s = hop.to_all_s(once / parts, n)
        first_s = max(2 * parts * part_s, (parts + 1) * part_s + hop.latency_s)
        return task.delay_s + first_s + hop.latency_s

    fitting = []
    for parts in _PARTS:
        if seconds(parts) > (1 - _LEAST_GAIN) * seconds(1):
            continue
        count = 2 * parts * n * (n - 1)
        if excess := searches.excess(_IN_PARTS, count, IN_SIMULATION["fluid"]):
            yield LeftOut(f"{_IN_PARTS} ({parts} parts)", excess)
        else:
            fitting.append((seconds(parts), parts, count))
    found = _fewest(fitting, task)
    if found is not None:
        predicted_s, parts, count = found
        arguments: dict[str, Any] = {
            "dims": (n,),
            "wires": (hop.wires,),
            "latency_s": (hop.latency_s + hop.to_all_s(once, n),),
            "bandwidth": (hop.bandwidth,),
            "nbytes": task.nbytes,
            "chunk_count": parts,
        }
        yield Candidate(
            _IN_PARTS,
            f"{parts} parts",
            max(bound_s, predicted_s),
            count,
            partial(all_reduce_blueconnect, **arguments),
            arguments=arguments,
        )
