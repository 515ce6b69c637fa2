"""The small topologies of the model tests, written out so that each expected time can be redone by hand."""

from __future__ import annotations

import hemiola as hm

US = 1e-6
KB = 1000


def one_way_ring(ranks: int, latency_s: float, bandwidth: float) -> hm.Topology:
    return hm.Topology(ranks, [(r, (r + 1) % ranks, latency_s, bandwidth) for r in range(ranks)])


def switch(ranks: int, latency_s: float, bandwidth: float) -> hm.Topology:
    """Every rank has one port, to and from one switch; latency_s is from rank to rank."""
    up = [(r, ranks, latency_s / 2, bandwidth) for r in range(ranks)]
    down = [(ranks, r, latency_s / 2, bandwidth) for r in range(ranks)]
    return hm.Topology(ranks, up + down, switch_count=1)


def fully_connected(ranks: int, latency_s: float, bandwidth: float) -> hm.Topology:
    pairs = [(r, q) for r in range(ranks) for q in range(ranks) if r != q]
    return hm.Topology(ranks, [(r, q, latency_s, bandwidth) for r, q in pairs])


def line(ranks: int, latency_s: float, bandwidth: float) -> hm.Topology:
    """Ranks in a row, a link in each direction between neighbours."""
    right = [(r, r + 1, latency_s, bandwidth) for r in range(ranks - 1)]
    left = [(r + 1, r, latency_s, bandwidth) for r in range(ranks - 1)]
    return hm.Topology(ranks, right + left)


def two_unequal_switches(ranks: int) -> hm.Topology:
    """Half the ranks at one switch, half at another, each with its own speed, and a thin link between them."""
    near, far = ranks, ranks + 1
    links: list[tuple[int, int, float, float]] = [(near, far, 3 * US, 0.7e9), (far, near, 3 * US, 0.7e9)]
    for r in range(ranks):
        at = near if r < ranks // 2 else far
        links += [(r, at, 0.5 * US, 1e9 + 1e8 * r), (at, r, 0.25 * US, 1e9)]
    return hm.Topology(ranks, links, switch_count=2)
