"""Schedules that keep ports busy where every two ranks are a hop apart, through one switch or by a link of their own.
Buffers go in parts that follow each other, so that a latency passes while the next part is sent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import TypeVar

import numpy as np

from hemiola import algorithms
from hemiola._core import Schedule, Topology
from hemiola.algorithms import Candidate, Task
from hemiola.algorithms.fewest_pieces import fewest_pieces
from hemiola.planner.outcome import LeftOut, too_many
from hemiola.synthesis.full_mesh import (
    broadcast_through_all,
    is_full_mesh,
    is_lone_switch,
    reduce_through_all,
)

#: Of each share of a broadcast through all ranks, and its transfers: 1,024 ranks hand on one piece.
_PIECES, _MOST_TRANSFERS = (1, 2, 4, 8, 16, 32, 64), 1_200_000
#: The same where the formula is exact, or promises no more than such a share of that of pipelined trees and fewer
#: pieces. 3,000 ranks hand on one piece, made in a third of a second. Trees that a slow rank is a leaf of are faster
#: than their formula, by a sixth where that was simulated.
_MOST_BY_FORMULA, _SHARE, _SHARE_BESIDE_SLOW = 9_000_000, 0.95, 0.75
#: Parts of a direct all-reduce, and transfers of its transfers: about a third of a second to simulate.
_PARTS, _MOST_TRANSFERS_IN_PARTS = (2, 4, 8, 16, 32, 64), 300_000
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
    def of(cls, topology: Topology, task: Task) -> _Hop | None:
        """Find it; None where some ranks are farther from each other."""
        speed, others = task.speed, task.rank_count - 1
        if task.rank_count < 3:
            return None
        if is_lone_switch(topology):
            return cls("switch", speed.latency_s - speed.message_s, speed.message_s, speed.bandwidth, 1)
        if not is_full_mesh(topology):
            return None
        link = np.asarray(topology.links)[0]
        slowest = max(task.conditions.slow_ranks.values(), default=1.0)
        bandwidth = float(link["bandwidth"]) / slowest
        return cls("fully_connected", float(link["latency_s"]), float(link["message_s"]), bandwidth, others)

    def to_all_s(self, nbytes: float, rank_count: int) -> float:
        """Return how long a rank's ports are busy with sending so many bytes in all, as much to each other rank."""
        messages = (rank_count - 1) // self.port_count
        return messages * self.message_s + nbytes / self.port_count / self.bandwidth


def one_hop(task: Task, bound_s: float, effort: float = 1.0) -> Iterator[Candidate | LeftOut]:
    """List these schedules, with so many times the usual effort; nothing where ranks are farther apart.

    Published algorithms of one root know one port, and pay a latency for every level of a tree; a direct all-reduce
    waits for the last byte of its first half before it begins with the second.
    """
    if task.topology is None or (hop := _Hop.of(task.topology, task)) is None:
        return
    if task.kind in ("broadcast", "reduce"):
        yield from _through_all(task, hop, bound_s, effort)
    elif task.kind == "all_reduce":
        yield from _in_parts(task, hop, bound_s, effort)


def _through_all(task: Task, hop: _Hop, bound_s: float, effort: float) -> Iterator[Candidate | LeftOut]:
    n, is_mesh = task.rank_count, hop.port_count > 1
    is_simulation = is_mesh and not task.conditions.slow_ranks and task.delay_s == 0 and hop.message_s == 0
    most = (_MOST_BY_FORMULA if is_simulation else _MOST_TRANSFERS) * effort
    rival_s = bound_s if is_mesh else task.delay_s + _pipelined_trees_s(task, hop)
    share = _SHARE_BESIDE_SLOW if task.conditions.slow_ranks else _SHARE
    fitting = []
    for pieces in _PIECES:
        piece_s = hop.to_all_s(task.nbytes / pieces, n)
        lag = 1 if is_mesh or piece_s == 0 else min(pieces, 1 + math.ceil(hop.latency_s / piece_s))
        first_s = max(hop.latency_s + piece_s, lag * piece_s)  # until the first is handed on
        seconds = max(bound_s, task.delay_s + first_s + pieces * piece_s + hop.latency_s)
        count = pieces * (n - 1) ** 2
        if count > most and (count > _MOST_BY_FORMULA * effort or seconds > share * rival_s):
            limit = max(most, _MOST_BY_FORMULA * effort) if count > _MOST_BY_FORMULA * effort else most
            yield LeftOut(f"through_all ({pieces} pieces)", too_many(count, "transfers", limit))
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


def _in_parts(task: Task, hop: _Hop, bound_s: float, effort: float) -> Iterator[Candidate | LeftOut]:
    """K parts are scattered, then gathered in the same order: of b seconds each, max(2Kb, (K + 1)b + α) + α in all.

    That is [cho2019] in one dimension, told of a latency that lets no part be gathered before all are scattered:
    where the two are mixed, one late rank holds up what does not wait for it."""
    n, most = task.rank_count, _MOST_TRANSFERS_IN_PARTS * effort
    once = task.nbytes * (n - 1) / n

    def seconds(parts: int) -> float:
        part_s = hop.to_all_s(once / parts, n)
        first_s = max(2 * parts * part_s, (parts + 1) * part_s + hop.latency_s)
        return task.delay_s + first_s + hop.latency_s

    blueconnect = algorithms.get("all_reduce_blueconnect")
    fitting = []
    for parts in _PARTS:
        if seconds(parts) > (1 - _LEAST_GAIN) * seconds(1):
            continue
        if (count := 2 * parts * n * (n - 1)) > most:
            yield LeftOut(f"{blueconnect.name} ({parts} parts)", too_many(count, "transfers", most))
        else:
            fitting.append((seconds(parts), parts, count))
    found = _fewest(fitting, task)
    if found is not None:
        predicted_s, parts, count = found
        arguments = {
            "dims": (n,),
            "wires": (hop.wires,),
            "latency_s": (hop.latency_s + hop.to_all_s(once, n),),
            "bandwidth": (hop.bandwidth,),
            "nbytes": task.nbytes,
            "chunk_count": parts,
        }
        yield Candidate(
            blueconnect.name,
            f"{parts} parts",
            max(bound_s, predicted_s),
            count,
            partial(blueconnect.function, **arguments),
            arguments=arguments,
        )
