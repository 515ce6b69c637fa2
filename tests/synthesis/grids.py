# SPDX-License-Identifier: Apache-2.0
"""Networks of the synthesis tests, written out link by link."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import hemiola as hm

GIB = 2**30
LATENCY_S = 0.5e-6


def grid(
    sides: Sequence[int],
    bandwidths: Sequence[float] = (50 * GIB,),
    *,
    wrap: bool = False,
    latency_s: float = LATENCY_S,
) -> hm.Topology:
    """A mesh, or with `wrap` a torus; one bandwidth per dimension, or one for all. Ranks r and r + 1 are
    neighbours in dimension 0."""
    per_dimension = list(bandwidths) * (len(sides) if len(bandwidths) == 1 else 1)
    links = [
        (rank, neighbour, latency_s, per_dimension[d])
        for rank in range(prod(sides))
        for d, neighbour in neighbours(rank, sides, wrap=wrap)
    ]
    return hm.Topology(prod(sides), links)


def neighbours(rank: int, sides: Sequence[int], *, wrap: bool) -> Iterator[tuple[int, int]]:
    """Each (dimension, neighbouring rank)."""
    stride = 1
    for d, side in enumerate(sides):
        at = rank // stride % side
        for to in {at - 1, at + 1}:
            if 0 <= to < side or (wrap and side > 2):
                yield d, rank + (to % side - at) * stride
        stride *= side


def ring(rank_count: int) -> hm.Topology:
    """A one-way ring of 1 us, 1 GB/s links."""
    return hm.Topology(rank_count, [(r, (r + 1) % rank_count, 1e-6, 1e9) for r in range(rank_count)])


def star(rank_count: int, bandwidth: float = 1e9) -> hm.Topology:
    """Ranks behind one switch; 1 us from rank to rank."""
    up = [(r, rank_count, 0.5e-6, bandwidth) for r in range(rank_count)]
    down = [(rank_count, r, 0.5e-6, bandwidth) for r in range(rank_count)]
    return hm.Topology(rank_count, up + down, switch_count=1)


def boxes(box_count: int, ranks_per_box: int, inner: float, outer: float) -> hm.Topology:
    """Boxes whose ranks are joined all to all, and each rank's port on one switch that joins the boxes."""
    ranks = box_count * ranks_per_box
    links = [
        (a, b, LATENCY_S, inner)
        for a in range(ranks)
        for b in range(ranks)
        if a != b and a // ranks_per_box == b // ranks_per_box
    ]
    for rank in range(ranks):
        links += [(rank, ranks, LATENCY_S, outer), (ranks, rank, LATENCY_S, outer)]
    return hm.Topology(ranks, links, switch_count=1)
