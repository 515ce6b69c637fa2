# SPDX-License-Identifier: Apache-2.0
"""Plans where links of unequal speed lie side by side: all of them carry, and no schedule is below its bound."""

from __future__ import annotations

import random

import pytest

import hemiola as hm

BANDWIDTHS = (3e9, 12e9, 25e9, 50e9, 100e9, 345e9)
KINDS = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
    "broadcast",
    "reduce",
    "gather",
    "scatter",
)
LATENCIES = (0.3e-6, 0.5e-6, 0.6e-6, 1e-6, 2e-6)


def graph(seed: int) -> hm.Topology:
    """Make a tree of two to eight ranks and up to as many more connections, each of one to three unequal cables."""
    draw = random.Random(seed)
    n = draw.randint(2, 8)
    ends = [(v, draw.randrange(v)) for v in range(1, n)]
    ends += [tuple(draw.sample(range(n), 2)) for _ in range(draw.randint(0, n))]
    cables = [
        (a, b, draw.choice(LATENCIES), draw.choice(BANDWIDTHS))
        for a, b in ends
        for _ in range(draw.randint(1, 3))
    ]
    return hm.Topology(n, [(*way, *how) for a, b, *how in cables for way in ((a, b), (b, a))])


def over_bound(kind: str, seeds: range) -> list[float]:
    """Plan 1 GiB on each graph, and return the times over their bounds, largest first."""
    found = []
    for seed in seeds:
        plan = hm.plan(graph(seed), kind, 1 << 30)
        assert plan.seconds >= plan.bound_s, (seed, plan.name)
        found.append(plan.seconds / plan.bound_s)
    return sorted(found, reverse=True)


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_a_large_all_reduce_comes_near_the_bound(first: int) -> None:
    """Chunks wait for each other on the way, which takes 5 % and more on one graph of twenty."""
    ratios = over_bound("all_reduce", range(first, first + 50))
    assert ratios[0] < 1.2
    assert sum(ratio > 1.05 for ratio in ratios) <= 4


@pytest.mark.parametrize(("kind", "worst"), [("all_gather", 1.05), ("broadcast", 1.1)])
def test_so_do_other_collectives(kind: str, worst: float) -> None:
    assert over_bound(kind, range(60))[0] < worst


@pytest.mark.parametrize("kind", KINDS)
def test_no_plan_is_below_its_bound_to_the_last_bit(kind: str) -> None:
    for seed in range(20):
        for nbytes in (1 << 10, 1 << 20, 64 << 20):
            plan = hm.plan(graph(seed), kind, nbytes)
            assert plan.seconds >= plan.bound_s, (seed, nbytes, plan.name)


def test_two_nics_of_unlike_latency_are_both_used() -> None:
    """Given two hosts of one rank with two NICs of 12 GB/s, one 1 us and one 3 us from the network."""
    cables = []
    for host in (0, 1):
        for nic, latency_s in ((2 + 2 * host, 1e-6), (3 + 2 * host, 3e-6)):
            cables += [(host, nic, 0.5e-6, 50e9), (nic, 6, latency_s, 12e9)]
    t = hm.Topology(2, [(*way, *how) for a, b, *how in cables for way in ((a, b), (b, a))], switch_count=5)
    plan = hm.plan(t, "all_gather", 16 << 20)
    assert plan.seconds <= 1.05 * plan.bound_s
    busy = hm.simulate(plan.schedule, t, 16 << 20).link_busy_s
    assert (busy[[2, 6]] > 0.4 * plan.seconds).all(), busy


def test_one_switch_beside_direct_links_is_a_network_of_several_ways() -> None:
    """Given a switch of 10 GB/s a port, and a ring of 40 GB/s beside it: trees use both."""
    cables = [(rank, 4, 1e-6, 10e9) for rank in range(4)]
    cables += [(rank, (rank + 1) % 4, 1e-6, 40e9) for rank in range(4)]
    links = [(*way, *how) for a, b, *how in cables for way in ((a, b), (b, a))]
    plan = hm.plan(hm.Topology(4, links, switch_count=1), "all_reduce", 1 << 30)
    assert plan.seconds <= 1.1 * plan.bound_s


#: Two GPUs of two ranks each, whose ports are slower than NVLink and C2C together.
SOCKETS = [
    *[(rank, 4 + rank // 2, 0.0, 1850e9) for rank in range(4)],
    *[(gpu, 6, 0.5e-6, 12e9) for gpu in (4, 5)],
    *[(gpu, 6, 0.6e-6, 395e9) for gpu in (4, 5)],
    *[(gpu, 7, 0.3e-6, 1444e9) for gpu in (4, 5)],
]


def test_two_unlike_ways_between_sockets_carry_together() -> None:
    links = [(*way, *how) for a, b, *how in SOCKETS for way in ((a, b), (b, a))]
    t = hm.Topology(4, links, switch_count=4)
    for kind in ("all_reduce", "all_gather", "broadcast"):
        plan = hm.plan(t, kind, 1 << 30)
        assert plan.seconds <= 1.05 * plan.bound_s, plan.explain()


def test_explain_names_the_links_that_share_a_message() -> None:
    """Given 3 and 345 GB/s: 0.862 % and 99.1 %. A small message takes the quicker link alone, which is no news."""
    cables = [(0, 1, 0.5e-6, 3e9), (0, 1, 0.6e-6, 345e9)]
    t = hm.Topology(2, [(*way, *how) for a, b, *how in cables for way in ((a, b), (b, a))])
    assert "take links 0 (0.862 %) and 2 (99.1 %)." in hm.plan(t, "broadcast", 1 << 30).explain()
    assert "link" not in hm.plan(t, "broadcast", 8).explain().split("lower bound")[0]


def test_explain_names_the_link_that_a_message_passes() -> None:
    """Given 1 GB/s, and a switch of 100 GB/s beside it."""
    cables = [(0, 1, 1e-6, 1e9), *((rank, 3, 1e-6, 100e9) for rank in range(3))]
    t = hm.Topology(3, [(*way, *how) for a, b, *how in cables for way in ((a, b), (b, a))], switch_count=1)
    told = hm.plan(t, "all_gather", 1 << 30).explain()
    assert "take link 2, then link 5, past the link between the two." in told
