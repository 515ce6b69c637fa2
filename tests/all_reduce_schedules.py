# SPDX-License-Identifier: Apache-2.0
"""All-reduce schedules of every source there is, by rank count."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import hemiola as hm
from hemiola import algorithms

Source = Callable[[int], Iterator[hm.Schedule]]
COST = {"latency_s": 1e-6, "bandwidth": 1e9}


def published(name: str) -> Source:
    def of(n: int) -> Iterator[hm.Schedule]:
        if algorithms.get(name).is_valid(n):
            yield algorithms.get(name).generate(n)

    return of


def one_shot(n: int) -> Iterator[hm.Schedule]:
    yield algorithms.all_gather_direct(n).one_shot_all_reduce()
    yield algorithms.all_gather_ring_two_way(n).one_shot_all_reduce()


def relabelled(n: int) -> Iterator[hm.Schedule]:
    """Partners whose order by rank differs from pair to pair."""
    mixed = [(rank * 7 + 3) % n for rank in range(n)]
    if len(set(mixed)) == n:
        yield algorithms.all_reduce_recursive_doubling(n).relabel(ranks=mixed)


def late(n: int) -> Iterator[hm.Schedule]:
    if n < 3:
        return
    for rank in {0, n - 1}:
        yield algorithms.all_reduce_late(n, rank)
        yield algorithms.all_reduce_late_broadcast(n, rank)
        yield algorithms.all_reduce_late_segmented(n, rank, segments=3, reduced=2)
        if n.bit_count() == 1:
            yield algorithms.all_reduce_stragglar(n, rank)
    if n > 3:
        yield algorithms.all_reduce_late_several(n, [0, n - 1])
        yield algorithms.all_reduce_late_relayed(n, [0, n - 1])


def slow(n: int) -> Iterator[hm.Schedule]:
    if n < 3:
        return
    yield algorithms.all_reduce_optcc(n, {1: 1.5}, 3)
    yield algorithms.all_reduce_weighted_exchange(n, {n - 1: 2.0}, 2)
    yield algorithms.all_reduce_weighted_exchange(n, {}, 1)


def levels(n: int) -> Iterator[hm.Schedule]:
    for nodes in range(2, n):
        if n % nodes:
            continue
        each = n // nodes
        yield algorithms.all_reduce_hierarchical(nodes, each)
        yield algorithms.all_reduce_pccl(nodes, each)
        yield algorithms.all_reduce_rail_exchange(nodes, each, {0: 2.0}, 2)
        yield algorithms.all_reduce_multi_ring(nodes, each, 1)
        if each > 1:
            if nodes > 2:
                yield algorithms.all_reduce_late_hierarchical(nodes, each, 0, segments=2, reduced=1)
            yield algorithms.all_reduce_uneven_rails([each, nodes], {1: 2.0}, 3)
            yield algorithms.all_reduce_pooled_exchange(nodes, each, {1: 0.0}, 2)
            yield algorithms.all_reduce_themis(
                [each, nodes], ["ring", "ring"], nbytes=4096, chunk_count=2, **COST
            )
            yield algorithms.all_reduce_blueconnect([each, nodes], ["ring", "ring"], nbytes=4096, **COST)
            yield algorithms.all_reduce_mesh_trees([each, nodes], ["line", "line"], nbytes=4096, **COST)


def synthesized(n: int) -> Iterator[hm.Schedule]:
    for topology in (hm.topologies.ring(n, **COST), hm.topologies.fully_connected(n, **COST)):
        yield hm.synthesize(topology, "all_reduce")
        yield algorithms.all_reduce_multitree(topology)


SCHEDULES: dict[str, Source] = {
    **{name: published(name) for name in algorithms.names() if name.startswith("all_reduce")},
    "one_shot": one_shot,
    "relabelled": relabelled,
    "late": late,
    "slow": slow,
    "levels": levels,
    "synthesized": synthesized,
}
