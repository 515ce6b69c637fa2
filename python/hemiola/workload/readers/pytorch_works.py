# SPDX-License-Identifier: Apache-2.0
"""PyTorch's collectives on the host: as an operator starts them, and as their backend marks their work."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from hemiola.workload.readers.pytorch_calls import Sent


class Started(NamedTuple):
    """A collective as the host has started it: its record function id, and its size where the shapes are recorded."""

    number: int
    kind: str
    begin_s: float
    end_s: float
    sent: Sent | None


class Done(NamedTuple):
    """The work of a collective, as its backend marks it."""

    kind: str
    begin_s: float
    end_s: float
    element_bytes: int


def matched(started: Iterable[Started], done: Iterable[Done]) -> Iterator[tuple[Started, Done | None]]:
    """Yield each collective by its start, with the first work of its kind that begins later; None without one.

    Gloo's reduce-scatter is an all-reduce."""
    works: dict[str, deque[Done]] = defaultdict(deque)
    for work in sorted(done, key=lambda one: one.begin_s):
        works[work.kind.replace("_", "")].append(work)
    for one in sorted(started, key=lambda one: one.begin_s):
        mine = None
        for kind in (one.kind, *(("all_reduce",) if one.kind == "reduce_scatter" else ())):
            queue = works[kind.replace("_", "")]
            while queue and queue[0].begin_s < one.begin_s:
                queue.popleft()
            if mine is None and queue:
                mine = queue.popleft()
        yield one, mine
