# SPDX-License-Identifier: Apache-2.0
"""TACOS's own search as its paper writes it: chunks matched to free links at random [TACOS, Algorithms 1 and 2].

A baseline, not a synthesizer to use: `hemiola.synthesize` chooses its sends with care, this draws lots. The paper's
public code lets a chunk be sent before it is there where links differ; here it may not."""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Collective, Schedule, Topology

#: Arrivals this close, of the time so far, are one moment: sums of unequal costs round differently.
_ONE_MOMENT = 1e-9


@dataclass(frozen=True)
class _Links:
    """What a chunk can cross, and for how many seconds it occupies each: α and its bytes [TACOS, §IV-F]."""

    src: NDArray[np.int64]
    dst: NDArray[np.int64]
    cost_s: NDArray[np.float64]

    def backwards(self) -> _Links:
        return _Links(self.dst, self.src, self.cost_s)


def all_reduce_by_random_matching(
    topology: Topology, nbytes: int, *, chunks_per_rank: int = 1, seed: int = 0
) -> Schedule:
    """Match a reduce-scatter, backwards over the reversed links, and an all-gather.

    `topology` joins its ranks directly: switches are unwound before, as in the paper.
    """
    n, links = topology.rank_count, topology.links
    chunk_bytes = nbytes / (n * chunks_per_rank)
    ways = _Links(
        links["src"].astype(np.int64),
        links["dst"].astype(np.int64),
        links["latency_s"] + chunk_bytes / links["bandwidth"],
    )
    draw = np.random.default_rng(seed)
    gathered = Collective.make("all_gather", n, n * chunks_per_rank)
    scattered = _Matching(gathered, ways.backwards(), draw).schedule()
    return scattered.reverse().concatenate(_Matching(gathered, ways, draw).schedule())


class _Matching:
    """An all-gather while it is found, one moment after the other."""

    def __init__(self, collective: Collective, links: _Links, draw: np.random.Generator) -> None:
        self._collective, self._links, self._draw = collective, links, draw
        n, chunks = collective.rank_count, collective.chunk_count
        self._held = np.zeros((n, chunks), bool)
        self._held[np.asarray(collective.owner), np.arange(chunks)] = True
        #: Unsatisfied postconditions that nothing is on its way to satisfy.
        self._wanted = ~self._held
        self._free: dict[int, set[int]] = defaultdict(set)
        self._out: dict[int, list[int]] = defaultdict(list)
        for link, (src, dst) in enumerate(zip(links.src.tolist(), links.dst.tolist(), strict=True)):
            self._free[dst].add(link)
            self._out[src].append(dst)

    def schedule(self) -> Schedule:
        """A step is a moment at which links are matched: what arrives later is not there yet."""
        on_the_way: list[tuple[float, int, int]] = []
        rows, now, step = [], 0.0, 0
        concerned = set(range(self._collective.rank_count))
        while True:
            for rank in sorted(concerned):
                for link, chunk in self._matches(rank):
                    heapq.heappush(on_the_way, (now + float(self._links.cost_s[link]), link, chunk))
                    rows.append((step, int(self._links.src[link]), rank, chunk))
            if not on_the_way:
                return Schedule.from_transfers(self._collective, np.array(rows, np.int64).reshape(-1, 4))
            step, now, concerned = step + 1, on_the_way[0][0], set()
            while on_the_way and on_the_way[0][0] <= now * (1 + _ONE_MOMENT):
                _, link, chunk = heapq.heappop(on_the_way)
                concerned |= self._arrived(link, chunk)

    def _arrived(self, link: int, chunk: int) -> set[int]:
        """Return whom that gives something new to receive, or a link to receive by."""
        rank = int(self._links.dst[link])
        self._held[rank, chunk] = True
        self._free[rank].add(link)
        return {rank, *self._out[rank]}

    def _matches(self, rank: int) -> list[tuple[int, int]]:
        """Match what a rank lacks, in random order, each to the cheapest free link that can bring it, ties by lot."""
        free = sorted(self._free[rank])
        offered = self._held[self._links.src[free]] & self._wanted[rank]
        found: list[tuple[int, int]] = []
        for chunk in self._draw.permutation(np.flatnonzero(offered.any(axis=0))).tolist():
            if not free:
                break
            able = [link for link in free if self._held[self._links.src[link], chunk]]
            if able:
                cheapest = self._links.cost_s[able].min()
                link = int(self._draw.choice([link for link in able if self._links.cost_s[link] == cheapest]))
                free.remove(link)
                self._free[rank].remove(link)
                self._wanted[rank, chunk] = False
                found.append((link, chunk))
        return found
