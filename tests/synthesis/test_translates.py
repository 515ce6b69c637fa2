# SPDX-License-Identifier: Apache-2.0
"""Networks that look alike from every rank: one tree, moved along with its source, takes the fewest ticks there are."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import hemiola as hm

LINK = {"latency_s": 1e-9, "bandwidth": 50e9}  # less than a tick by far, so that ticks are what counts

TORI = [
    [8, 8],
    [10, 10],
    [16, 16],
    [3, 3],
    [3, 4],
    [3, 25],
    [5, 7],
    [9, 11],
    [12, 12],
    [4, 4, 4],
    [6, 6, 6],
    [4, 5, 6],
    [32, 32],
    [40, 48],  # of more shapes than are tried in full
]


def circulant(rank_count: int, *offsets: int) -> hm.Topology:
    around = sorted({offset % rank_count for one in offsets for offset in (one, -one)})
    links = [
        (rank, (rank + offset) % rank_count, 1e-9, 50e9) for rank in range(rank_count) for offset in around
    ]
    return hm.Topology(rank_count, links)


NETWORKS = {
    **{f"torus {'x'.join(map(str, dims))}": hm.topologies.torus(dims, **LINK) for dims in TORI},
    "ring 2": hm.topologies.ring(2, **LINK),
    "ring 9": hm.topologies.ring(9, **LINK),
    "one-way ring 6": hm.topologies.ring(6, bidirectional=False, **LINK),
    "cube of 64": hm.topologies.mesh([2] * 6, **LINK),
    "fully connected 13": hm.topologies.fully_connected(13, **LINK),
    "circulant 20": circulant(20, 1, 4),
    "circulant 31": circulant(31, 1, 5, 12),
}


def fewest_ticks(topology: hm.Topology, chunks: int) -> int:
    neighbours = np.bincount(np.asarray(topology.links)["src"])[0]
    return math.ceil(chunks * (topology.rank_count - 1) / neighbours)


@pytest.mark.parametrize(
    ("network", "chunks"),
    [
        (network, chunks)
        for network in NETWORKS
        for chunks in (1, 3)
        if chunks == 1 or network not in ("torus 32x32", "torus 40x48")
    ],
)
def test_an_all_gather_takes_as_many_ticks_as_the_ports_need(network: str, chunks: int) -> None:
    topology = NETWORKS[network]
    schedule = hm.synthesize(topology, "all_gather", chunks, trials=1, progress=False)
    assert schedule.step_count == fewest_ticks(topology, chunks)
    assert hm.verify(schedule) == []


def fewest_late_ticks(sides: list[int], lag: int) -> int:
    """A rank's links bring its chunk to no more ranks a tick than there are links, and over a hop in 1 + lag ticks."""
    hops = [
        sum(min(at, side - at) for at, side in zip(place, sides, strict=True))
        for place in itertools.product(*map(range, sides))
    ]
    reached, ticks = 1, 0
    while reached < len(hops):
        near = sum(hop <= ticks // (1 + lag) + 1 for hop in hops)
        reached, ticks = min(reached + 2 * len(sides), near), ticks + 1
    return ticks


@pytest.mark.parametrize(
    ("sides", "lag", "over"),
    [
        ([8, 8], 10, 0),  # seven hops of 11 before the farthest rank's tick: 78
        ([16, 16], 2, 0),
        ([16, 16], 5, 0),
        ([6, 6, 6], 2, 0),
        ([32, 32], 1, 0),
        ([5, 7], 5, 1),
    ],
)
def test_chunks_that_leave_late_lose_little_but_the_ways_to_far_ranks(
    sides: list[int], lag: int, over: int
) -> None:
    n = math.prod(sides)
    chunk_s = 25_000 / 50e9
    torus = hm.topologies.torus(sides, latency_s=lag * chunk_s, bandwidth=50e9)
    schedule = hm.synthesize(torus, "all_gather", nbytes=25_000 * n, trials=1, progress=False)
    assert hm.verify(schedule) == []
    assert hm.simulate(schedule, torus, 25_000 * n, network="fifo").seconds == pytest.approx(
        (fewest_late_ticks(sides, lag) + over + lag) * chunk_s
    )


@pytest.mark.parametrize("kind", ["reduce_scatter", "all_reduce"])
def test_reductions_are_as_short(kind: str) -> None:
    torus = hm.topologies.torus([10, 10], **LINK)
    schedule = hm.synthesize(torus, kind, trials=1, progress=False)
    assert schedule.step_count == 25 * (2 if kind == "all_reduce" else 1)
    assert hm.verify(schedule) == []


def test_ranks_that_are_not_alike_are_matched_as_ever() -> None:
    torus = hm.topologies.torus([4, 4], **LINK)
    links = [tuple(link)[:4] for link in np.asarray(torus.links).tolist()]
    broken = hm.Topology(16, links[1:])
    assert hm.verify(hm.synthesize(broken, "all_gather", trials=1, progress=False)) == []
