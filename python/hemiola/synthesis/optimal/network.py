# SPDX-License-Identifier: Apache-2.0
"""A topology and a collective as integer programs see them: links between ranks, and one spreading per chunk.

A reduction is a spreading on the reversed network, turned round; an all-reduce is a reduce-scatter and then an
all-gather [TACOS, §IV-E]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hemiola._core import Collective, Schedule, Topology
from hemiola.arguments.names import Kind
from hemiola.errors import ArgumentError

#: A chunk that crosses a link: (step, source, destination, chunk).
Send = tuple[int, int, int, int]


@dataclass(frozen=True)
class RankLink:
    """A link, or several alike side by side, from one rank to another."""

    src: int
    dst: int
    latency_s: float
    bandwidth: float
    message_s: float = 0.0
    count: int = 1

    def reversed(self) -> RankLink:
        return replace(self, src=self.dst, dst=self.src)


@dataclass(frozen=True)
class Spreading:
    """Chunks that each start at one rank and must reach all."""

    rank_count: int
    links: tuple[RankLink, ...]
    owners: tuple[int, ...]

    def into(self, rank: int) -> list[int]:
        """Return the indices of the links into a rank."""
        return [i for i, link in enumerate(self.links) if link.dst == rank]

    def distances(self, source: int) -> list[int]:
        """Return how many links each rank is away from a source; raise ArgumentError where one is out of reach."""
        away = [-1] * self.rank_count
        away[source] = 0
        front = [source]
        while front:
            reached = {link.dst for link in self.links if link.src in front and away[link.dst] < 0}
            for rank in reached:
                away[rank] = away[front[0]] + 1
            front = sorted(reached)
        if -1 in away:
            raise ArgumentError(
                f"expected a connected topology, found no path from rank {source} to rank {away.index(-1)}"
            )
        return away


Solver = Callable[[Spreading], list[Send]]

_SPREADS = ("all_gather", "broadcast")
_REDUCES = {"reduce_scatter": "all_gather", "reduce": "broadcast"}
_KINDS = (*_SPREADS, *_REDUCES, "all_reduce")


def rank_links(topology: Topology) -> tuple[RankLink, ...]:
    """Return the links, those of the same ends and cost as one; raise ArgumentError where there are switches."""
    if topology.switch_count:
        raise ArgumentError(
            f"expected a topology of links between ranks, found {topology.switch_count} switches; "
            f"unwind them first: topology.unwind_switches(degree)"
        )
    counts: dict[RankLink, int] = {}
    for src, dst, latency_s, bandwidth, message_s in topology.links.tolist():
        link = RankLink(src, dst, latency_s, bandwidth, message_s)
        counts[link] = counts.get(link, 0) + 1
    return tuple(replace(link, count=count) for link, count in counts.items())


def solve_collective(
    topology: Topology, kind: Kind, chunks_per_rank: int, root: int, solver: Solver
) -> Schedule:
    """Make a schedule of a collective from spreadings that `solver` solves."""
    if kind not in _KINDS:
        raise ArgumentError(f"expected a collective out of {', '.join(_KINDS)}, found '{kind}'")
    if chunks_per_rank < 1:
        raise ArgumentError(f"expected at least 1 chunk per rank, found {chunks_per_rank}")
    n = topology.rank_count
    shares = 1 if kind in ("broadcast", "reduce") else n
    collective = Collective.make(kind, n, shares * chunks_per_rank, root=root)
    links = rank_links(topology)
    rows: list[tuple[int, int, int, int, bool]] = []
    owners = tuple(np.asarray(collective.owner).tolist())
    if kind in _REDUCES or kind == "all_reduce":
        backwards = Spreading(n, tuple(link.reversed() for link in links), owners)
        rows += turned_round(solver(backwards))
    if kind in _SPREADS or kind == "all_reduce":
        first = 1 + max((row[0] for row in rows), default=-1)
        sends = solver(Spreading(n, links, owners))
        rows += [(first + step, src, dst, chunk, False) for step, src, dst, chunk in sends]
    return Schedule.from_transfers(collective, rows)


def turned_round(sends: list[Send]) -> list[tuple[int, int, int, int, bool]]:
    """Return the reduction that runs a spreading backwards."""
    last = max((step for step, *_ in sends), default=0)
    return [(last - step, dst, src, chunk, True) for step, src, dst, chunk in sends]
