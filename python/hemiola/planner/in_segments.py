"""A slow rank behind one switch: the weighted exchange in as many segments as the network alone makes worth it. The
registry's own choice keeps messages so long that a port's speed can be told from them."""

from __future__ import annotations

from collections.abc import Container, Iterator
from functools import partial
from operator import itemgetter

from hemiola import algorithms
from hemiola.algorithms import Candidate, Task
from hemiola.algorithms.fewest_pieces import fewest_pieces
from hemiola.algorithms.from_task import arguments_from
from hemiola.planner.budget import IN_MAKING, IN_SIMULATION, Searches
from hemiola.synthesis.full_mesh import is_lone_switch

_NAME = "all_reduce_weighted_exchange"
_SEGMENTS = (2, 4, 8, 16, 32, 64)


def in_segments(task: Task, bound_s: float, searches: Searches, known: Container[str]) -> Iterator[Candidate]:
    """List the best number of segments by formula, unless it is known; only where one switch has one slow rank.

    Where simulating it takes more than its share, the formula stands for that.

    In each of K + 1 bodies a port waits for a latency and pays for messages: (K + 1)(α + (n - 2)m) + (K + c)/K · T for
    K segments. T is the busiest port's time for all of them, and c = min(1, l - 1). A simulation finds that, or up to 6
    % less.
    """
    slow = [factor for factor in task.conditions.slow_ranks.values() if factor > 1]
    if task.kind != "all_reduce" or len(slow) != 1 or task.rank_count < 3 or task.nbytes == 0:
        return
    if task.topology is None or not is_lone_switch(task.topology):
        return
    n, factor = task.rank_count, slow[0]
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
    if not segments or f"{_NAME} ({label})" in known:
        return
    exchange = algorithms.get(_NAME)
    stated = arguments_from(task, (name for name, is_required in exchange.parameters.items() if is_required))
    arguments = {**stated, "segments": segments}
    yield Candidate(
        _NAME,
        label,
        max(bound_s, task.delay_s + seconds),
        segments * a_segment,
        partial(exchange.function, **arguments),
        parts=None if exchange.parts is None else partial(exchange.parts, **arguments),
        arguments=arguments,
        is_simulation=bool(searches.excess(_NAME, segments * a_segment, IN_SIMULATION["fluid"], later=True)),
    )


def _load(rank_count: int, factor: float) -> float:
    """Return what the busiest port carries, over the buffer through a healthy one: the slow rank owns 2/l - 1 of what a
    healthy rank owns, or nothing."""
    spare = max(0.0, 2 / factor - 1)
    handed_out = (rank_count - 2) / (rank_count - 1 + spare)
    return max(1 + handed_out, factor * (1 + handed_out * spare))
