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
