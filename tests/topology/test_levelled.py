# SPDX-License-Identifier: Apache-2.0
"""Networks whose odd cables are made like the others: a regular network comes back from one that was changed."""

from __future__ import annotations

import numpy as np
import pytest

import hemiola as hm
from hemiola.topology.levelled import levelled

LINK = {"latency_s": 1e-6, "bandwidth": 50e9}
TORUS = hm.topologies.torus([4, 3], **LINK)


def rows(topology: hm.Topology) -> list[tuple[float, ...]]:
    return sorted(topology.links.tolist())


def with_rows(topology: hm.Topology, more: list[tuple[float, ...]]) -> hm.Topology:
    return hm.Topology(
        topology.rank_count, [*topology.links.tolist(), *more], switch_count=topology.switch_count
    )


def faster(topology: hm.Topology, links: list[int]) -> hm.Topology:
    changed = topology.links.copy()
    changed["bandwidth"][links] *= 2
    return topology.replaced(links=changed)


@pytest.mark.parametrize(
    "network",
    [
        TORUS,
        hm.topologies.torus([4, 4], latency_s=1e-6, bandwidth=[100e9, 25e9]),
        hm.topologies.switch(8, **LINK),
        hm.topologies.fully_connected(6, **LINK),
        hm.topologies.hosts(4, 4, 2, **LINK, nic_latency_s=2e-6, nic_bandwidth=25e9),
        hm.topologies.dgx1(),
    ],
    ids=["torus", "unequal torus", "switch", "full mesh", "hosts", "dgx1"],
)
def test_a_regular_network_has_no_odd_cable(network: hm.Topology) -> None:
    assert levelled(network) is None


@pytest.mark.parametrize("links", [[0], [0, 1]], ids=["one way", "both ways"])
def test_a_faster_cable_becomes_like_the_others(links: list[int]) -> None:
    even = levelled(faster(TORUS, links))
    assert even is not None
    assert rows(even) == rows(TORUS)
    assert levelled(even) is None


def test_the_class_of_a_faster_cable_is_the_nearest_below() -> None:
    network = hm.topologies.torus([4, 4], latency_s=1e-6, bandwidth=[100e9, 25e9])
    even = levelled(faster(network, [0, 1]))
    assert even is not None
    assert rows(even) == rows(network)


@pytest.mark.parametrize("speed", [(1e-6, 50e9, 0.0), (2e-6, 10e9, 0.0)], ids=["equal", "slower"])
def test_a_second_link_beside_another_is_left_out(speed: tuple[float, ...]) -> None:
    src, dst = TORUS.links[["src", "dst"]][0].tolist()
    even = levelled(with_rows(TORUS, [(src, dst, *speed), (dst, src, *speed)]))
    assert even is not None
    assert rows(even) == rows(TORUS)


def test_a_cable_across_a_torus_is_left_out() -> None:
    even = levelled(with_rows(TORUS, [(0, 6, 1e-6, 50e9, 0.0), (6, 0, 1e-6, 50e9, 0.0)]))
    assert even is not None
    assert rows(even) == rows(TORUS)


def test_a_cable_that_alone_joins_two_halves_stays() -> None:
    """Given two rings of three, joined by one cable, whose ends alone have three cables."""
    pairs = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3)]
    network = hm.Topology(6, [(*way, 1e-6, 50e9) for a, b in pairs for way in ((a, b), (b, a))])
    assert levelled(network) is None


def test_nothing_is_like_the_others_where_most_cables_are_odd() -> None:
    ring = hm.topologies.ring(6, **LINK)
    links = ring.links.copy()
    links["bandwidth"] *= (
        1 + np.minimum(links["src"], links["dst"]) + 10.0 * np.maximum(links["src"], links["dst"])
    )
    assert levelled(ring.replaced(links=links)) is None


def test_a_link_that_is_slower_one_way_is_so_both_ways() -> None:
    """Given 50 GB/s there at 1 us, and 20 GB/s back at 0.5 us: no better than 20 GB/s at 1 us both ways."""
    network = hm.Topology(2, [(0, 1, 1e-6, 50e9), (1, 0, 0.5e-6, 20e9)])
    even = levelled(network)
    assert even is not None
    assert rows(even) == [(0, 1, 1e-6, 20e9, 0.0), (1, 0, 1e-6, 20e9, 0.0)]


def test_a_one_way_ring_stays() -> None:
    assert levelled(hm.Topology(3, [(0, 1, 1e-6, 50e9), (1, 2, 1e-6, 50e9), (2, 0, 1e-6, 50e9)])) is None
