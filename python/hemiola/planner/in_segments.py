# SPDX-License-Identifier: Apache-2.0
"""A slow rank behind one switch: the weighted exchange in as many segments as the network alone makes worth it. The
registry's own choice keeps messages so long that a port's speed can be told from them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from operator import itemgetter
from typing import Any

from hemiola._core.algorithms import all_reduce_weighted_exchange, all_reduce_weighted_exchange_parts
from hemiola.algorithms import Candidate
from hemiola.algorithms.fewest_pieces import fewest_pieces
from hemiola.planner.budget import IN_MAKING, IN_SIMULATION
from hemiola.planner.question import Question

_NAME = "all_reduce_weighted_exchange"
_SEGMENTS = (2, 4, 8, 16, 32, 64)


def in_segments(question: Question) -> Iterator[Candidate]:
    """List the best number of segments by formula, unless the registry lists it.

    Where simulating it takes more than its share, the formula stands for that.

    In each of K + 1 bodies a port waits for a latency and pays for messages: (K + 1)(α + (n - 2)m) + (K + c)/K · T for
    K segments. T is the busiest port's time for all of them, and c = min(1, l - 1). A simulation finds that, or up to 6
    % less.
    """
    task, searches = question.task, question.searches
    if task.nbytes == 0:
        return
    n, factor = task.rank_count, max(task.conditions.slow_ranks.values())
    whole_s = _load(n, factor) * task.nbytes / (task.speed.bandwidth * factor)
    waits_s = task.speed.latency_s + (n - 2) * task.speed.message_s
    a_segment = 2 * (n if factor < 2 else n - 1) * (n - 1)
    found = [
        ((segments + 1) * waits_s + (1 + min(1.0, factor - 1) / segments) * whole_s, segments)
        for segments in _SEGMENTS
        if not searches.excess(_NAME, segments * a_segment, IN_MAKING)
    ]

    def with_messages_s(one: tuple[float, int]) -> float:
        return one[0] + task.shared_message_s * one[1] * a_segment

    seconds, segments = fewest_pieces(found, with_messages_s, itemgetter(1)) or (0.0, 0)
    label = f"{segments} segments"
    if not segments or any((one.name, one.variant) == (_NAME, label) for one in question.known):
        return
    arguments: dict[str, Any] = {"rank_count": n, "slow": task.conditions.slow_ranks, "segments": segments}
    yield Candidate(
        _NAME,
        label,
        max(question.bound_s, task.delay_s + seconds),
        segments * a_segment,
        partial(all_reduce_weighted_exchange, **arguments),
        parts=partial(all_reduce_weighted_exchange_parts, **arguments),
        arguments=arguments,
        is_simulation=bool(searches.excess(_NAME, segments * a_segment, IN_SIMULATION["fluid"], later=True)),
    )


def _load(rank_count: int, factor: float) -> float:
    """Return what the busiest port carries, over the buffer through a healthy one: the slow rank owns 2/l - 1 of what a
    healthy rank owns, or nothing."""
    spare = max(0.0, 2 / factor - 1)
    handed_out = (rank_count - 2) / (rank_count - 1 + spare)
    return max(1 + handed_out, factor * (1 + handed_out * spare))
