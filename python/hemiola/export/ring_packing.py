# SPDX-License-Identifier: Apache-2.0
"""Rings of a machine's GPUs over its direct links, one after the other, each as fast as the earlier ones allow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Topology

#: Steps of a search for one ring; of so few GPUs as a host has, most searches take some hundred.
_MOST_STEPS = 200_000
#: A ring below this share of the first one's rate is not worth a channel.
_WORTH = 0.2


def packed_rings(topology: Topology, most: int = 64) -> list[tuple[int, ...]]:
    """Return rings of all ranks, as orders that begin with rank 0; one that is twice as fast as the slowest, twice.

    Each ring takes the largest rate that all its links still have, found by trying rates from above. Where no ring goes
    over direct links alone, as behind a switch, the ranks' own order is the one ring.
    """
    room = np.zeros((topology.rank_count, topology.rank_count))
    for src, dst, bandwidth in topology.links[["src", "dst", "bandwidth"]].tolist():
        if src < topology.rank_count and dst < topology.rank_count:
            room[src, dst] += bandwidth
    found: list[tuple[float, tuple[int, ...]]] = []
    while len(found) < most:
        rate, ring = _fastest(room)
        if not ring or (found and rate < _WORTH * found[0][0]):
            break
        for src, dst in zip(ring, (*ring[1:], ring[0]), strict=True):
            room[src, dst] -= rate
        found.append((rate, ring))
    rings = [ring for rate, ring in found for _ in range(int(rate / found[-1][0] + 1e-6))]
    return rings[:most] or [tuple(range(topology.rank_count))]


def _fastest(room: NDArray[np.float64]) -> tuple[float, tuple[int, ...]]:
    """Return the ring whose slowest link has most room, and that room."""
    for rate in sorted({float(value) for value in room.ravel() if value > 0}, reverse=True):
        ring = _ring(room >= rate * (1 - 1e-9))
        if ring:
            return rate, ring
    return 0.0, ()


def _ring(joined: NDArray[np.bool_]) -> tuple[int, ...]:
    """Return a ring over pairs that are joined; empty where there is none, or the search takes too long."""
    count = len(joined)
    onward = [[b for b in np.flatnonzero(joined[a]).tolist() if b != a] for a in range(count)]
    way, choices, steps = [0], [iter(onward[0])], 0
    while choices and steps < _MOST_STEPS:
        steps += 1
        following = next(choices[-1], None)
        if following is None:
            choices.pop()
            way.pop()
        elif following not in way:
            way.append(following)
            if len(way) == count and joined[following, 0]:
                return tuple(way)
            choices.append(iter(onward[following]))
    return ()
