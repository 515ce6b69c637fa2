# SPDX-License-Identifier: Apache-2.0
"""An all-reduce for several slow ranks where a port carries one message at a time: slow ranks relay messages of other
slow ranks, for which a healthy rank would have to wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from hemiola._core import Collective, Schedule
from hemiola._core.algorithms import best_segment_count
from hemiola.algorithms import slow_shares
from hemiola.algorithms.algorithm import Algorithm, Paper
from hemiola.algorithms.number_arrays import Floats, Integers
from hemiola.algorithms.open_shop import cut_into_slots
from hemiola.algorithms.slow_exchanges import too_few_ranks
from hemiola.algorithms.slow_pipeline import check_segments, pipelined
from hemiola.algorithms.slow_trees import NO_PARENT, Trees, relay_trees
from hemiola.arguments import typed

_WHERE = "all_reduce_relayed_exchange"
#: Of one segment, when units are cut finer so that no port waits in a slot.
_MOST_UNITS = 384
#: Stages of a unit: up to a slow rank that relays, up to the root, down from it, down from the relay.
_STAGES = 4


@typed
def all_reduce_relayed_exchange(
    rank_count: int, slow: Mapping[int, float], segments: int | None = None, *, relative_latency: float = 1e-4
) -> Schedule:
    """All-reduce with several slow ranks, which relay for each other, in an order in which no port waits for another.

    The buffer goes in segments, each in units that go up a tree to its root and down again. Healthy ranks hang on the
    root, a slow one on the root or on another slow rank, as often as leaves all ports the least to do. In a body each
    of the four stages has its own segment, and messages are cut into slots as in all_reduce_open_shop_exchange.

    Parameters
    ----------
    rank_count : int >= 2.
    slow : mapping of rank to float >= 1, the factors by which ports are slower; relative to the fastest rank.
    segments : int >= 1, pieces the buffer is pipelined in; None for best_segment_count of the next argument.
    relative_latency : float > 0, latency · bandwidth / bytes; the default is 4 µs at 25 GB/s for 1 GB.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        A rank does not exist, a factor is below 1 or not finite, segments < 1, or relative_latency is not finite
        and > 0.

    Notes
    -----
    Bandwidth only, one message at a time per port: about T·(k+1)/k · Nβ for k segments, where T is the least that the
    busiest port can have with trees of two levels (see `hemiola.slow_trees`), up to rounding to whole units. For m slow
    ranks of one factor l, of p, it is 2(p-1-m+ml)/p where they have time to relay and none to own anything. The solver
    chooses among equal trees. Own running time: that of an open shop, and for many different factors of a linear
    program: 0.1 s for five of 32 ranks, seconds for 31. [OptCC] has no relays between slow ranks.
    """
    if segments is None:
        segments = best_segment_count(rank_count, dict(slow), relative_latency)
    check_segments(_WHERE, segments)
    return _bodies(tuple(slow_shares.relative_factors(_WHERE, rank_count, slow))).schedule(segments)


class _Bodies:
    """Writes the schedule."""

    def __init__(self, factors: Floats) -> None:
        trees = relay_trees(factors)
        messages = _messages(trees)
        count = np.zeros((len(factors), len(factors)), np.int64)
        np.add.at(count, (messages[:, 1], messages[:, 2]), 1)
        times, slots = cut_into_slots(factors, count, max(1, _MOST_UNITS // len(trees.parent)))
        self._rounds = len(slots)
        self._owner = np.repeat(trees.root, times)
        self._ranks = len(factors)
        self._pattern = _in_slots(messages, slots, times)

    def schedule(self, segments: int) -> Schedule:
        stage = self._pattern[:, 4]
        pattern = np.column_stack([self._pattern[:, :4], stage < _STAGES // 2])
        rows = pipelined(pattern, stage, segments=segments, steps=self._rounds, chunks=len(self._owner))
        owner = np.tile(self._owner, segments).tolist()
        collective = Collective.with_owners("all_reduce", self._ranks, owner)
        return Schedule.from_transfers(collective, rows)


@lru_cache(maxsize=16)
def _bodies(factor_of_rank: tuple[float, ...]) -> _Bodies:
    return _Bodies(np.array(factor_of_rank))


def _messages(trees: Trees) -> Integers:
    """Return rows of stage, src, dst, unit: what a unit sends up and down its tree."""
    unit, child = np.nonzero(trees.parent != NO_PARENT)
    parent = trees.parent[unit, child]
    is_relayed = parent != trees.root[unit]
    up = np.column_stack([np.where(is_relayed, 0, 1), child, parent, unit])
    down = np.column_stack([np.where(is_relayed, 3, 2), parent, child, unit])
    rows: Integers = np.concatenate([up, down])
    return rows


def _in_slots(messages: Integers, slots: list[Integers], times: int) -> Integers:
    """Return rows of slot, src, dst, unit, stage, each unit cut into so many.

    Between two ranks what is furthest goes first: others wait for it longest."""
    waiting: dict[tuple[int, int], deque[tuple[int, int]]] = {}
    for stage, src, dst, unit in messages[np.argsort(-messages[:, 0], kind="stable")].tolist():
        queue = waiting.setdefault((src, dst), deque())
        queue.extend((unit * times + piece, stage) for piece in range(times))
    rows = []
    for number, slot in enumerate(slots):
        for src, dst in np.argwhere(slot > 0).tolist():
            queue = waiting[src, dst]
            rows += [(number, src, dst, *queue.popleft()) for _ in range(slot[src, dst])]
    return np.array(rows, np.int64)


ALGORITHMS = (
    Algorithm(
        name=_WHERE,
        kind="all_reduce",
        paper=Paper("OptCC", "Chen, Jiang, Yu, Wang, Xiong, Wang, Liu 2026"),
        idea="The open-shop exchange with slow ranks that relay for each other, as often as leaves all ports the least "
        "to do.",
        sizes="any n ≥ 2",
        function=all_reduce_relayed_exchange,
        needs="slow",
        formula="T(K+1)/K·N·β for the busiest port's load T with any trees, bandwidth only",
        unable=too_few_ranks,
    ),
)
