# SPDX-License-Identifier: Apache-2.0
"""Several ways from one vertex to another: large messages use all of them, small ones the quickest."""

from __future__ import annotations

import numpy as np
import pytest

import hemiola as hm

SLOW, FAST = (500e-9, 3e9), (600e-9, 345e9)


def topology(rank_count: int, switch_count: int, *cables, nodes=()) -> hm.Topology:
    """Build one of cables (a, b, latency_s, bandwidth), each a link both ways."""
    links = [(*ends, s, rate) for a, b, s, rate in cables for ends in ((a, b), (b, a))]
    return hm.Topology(rank_count, links, switch_count=switch_count, nodes=list(nodes))


def send(t: hm.Topology, nbytes: int, network: str = "fluid") -> hm.Timeline:
    """Simulate one message of all bytes."""
    return hm.simulate(hm.algorithms.get("broadcast_direct").generate(2, root=0), t, nbytes, network=network)


@pytest.mark.parametrize("network", ["fluid", "fifo"])
def test_shares_of_a_large_message_arrive_together(network: str) -> None:
    """Given 3 GB/s after 500 ns, and 345 GB/s after 600 ns.

    Derivation: by the time T they bring 3 (T - 500) + 345 (T - 600) bytes, in ns: 348 MB by 1 ms + 599.138 ns.
    """
    t = topology(2, 0, (0, 1, *SLOW), (0, 1, *FAST))
    line = send(t, 348_000_000, network)
    mean_s = (3 * 500e-9 + 345 * 600e-9) / 348
    assert line.seconds == pytest.approx(1e-3 + mean_s, rel=1e-9)
    assert 0 <= line.seconds - hm.lower_bound(t, "broadcast", 348_000_000).seconds < 2e-12
    busy = [line.link_busy_s[link] for link in (0, 2)]
    assert busy == pytest.approx([1e-3, 1e-3], rel=1e-6)


@pytest.mark.parametrize("nbytes", [100_000, 1_000_000, 100_000_000])
def test_unlike_ways_between_two_ranks_carry_a_message_as_soon_as_can_be(nbytes: int) -> None:
    """Given latencies that differ by as much as a message takes: each way has its share, none waits for another."""
    t = topology(2, 0, (0, 1, 0.3e-6, 25e9), (0, 1, 0.6e-6, 100e9), (0, 1, 2e-6, 345e9))
    assert send(t, nbytes).seconds <= hm.lower_bound(t, "broadcast", nbytes).seconds + 4e-12


def test_a_small_message_takes_the_quickest_link_alone() -> None:
    t = topology(2, 0, (0, 1, *SLOW), (0, 1, *FAST))
    assert send(t, 3).seconds == pytest.approx(501e-9)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_the_order_of_parallel_links_changes_nothing(order: tuple[int, ...]) -> None:
    cables = [(0, 1, *SLOW), (0, 1, *FAST), (0, 1, 700e-9, 50e9)]
    times = {send(topology(2, 0, *(cables[i] for i in order)), n).seconds for n in (1 << 20,)}
    assert times == {send(topology(2, 0, *cables), 1 << 20).seconds}


def test_a_chain_of_switches_is_a_way_beside_a_direct_link() -> None:
    """Given 2 GB/s directly, and 6 GB/s over two switches that join nothing else: 8 GB/s together."""
    t = topology(2, 2, (0, 1, 1e-6, 2e9), (0, 2, 1e-6, 8e9), (2, 3, 1e-6, 6e9), (3, 1, 1e-6, 7e9))
    line = send(t, 80_000_000)
    assert line.seconds == pytest.approx(10e-3 + 2.5e-6, rel=1e-9)  # 1 us for a quarter, 3 us for the rest
    assert line.link_busy_s[2] == pytest.approx(7.5e-3, rel=1e-6)  # 60 MB at 8 GB/s


def test_two_nics_of_a_host_with_one_rank_carry_one_message_together() -> None:
    """Given a GPU, its socket, two NICs of 12 GB/s, the network: 24 GB/s to another such host, which is the bound."""
    cables = []
    for host in (0, 1):
        socket, cards = 2 + 3 * host, (3 + 3 * host, 4 + 3 * host)
        cables += [(host, socket, *SLOW), (host, socket, *FAST)]
        cables += [(socket, card, 0.5e-6, 12e9) for card in cards] + [
            (card, 8, 2.5e-6, 25e9) for card in cards
        ]
    t = topology(2, 7, *cables)
    plan = hm.plan(t, "all_gather", 1 << 30)
    assert plan.bound_s <= plan.seconds < 1.001 * plan.bound_s


def test_switches_that_join_the_same_ranks_alike_are_one() -> None:
    """Given four NVSwitches, each with a link of 50 GB/s to each of three GPUs."""
    planes = topology(3, 4, *((rank, 3 + p, 0.3e-6, 50e9) for p in range(4) for rank in range(3)))
    one = topology(3, 1, *((rank, 3, 0.3e-6, 200e9) for rank in range(3)))
    for kind in ("all_reduce", "all_to_all"):
        assert hm.plan(planes, kind, 1 << 28).seconds == pytest.approx(
            hm.plan(one, kind, 1 << 28).seconds, rel=1e-6
        )


def test_switches_whose_links_differ_from_rank_to_rank_stay_apart() -> None:
    """Given rank 0 with 10 and 1 GB/s to two switches, rank 1 with 1 and 10: 2 GB/s at most, not 11."""
    fast, slow = (1e-6, 10e9), (1e-6, 1e9)
    t = topology(
        3, 2, (0, 3, *fast), (0, 4, *slow), (1, 3, *slow), (1, 4, *fast), (2, 3, *fast), (2, 4, *fast)
    )
    schedule = hm.algorithms.all_reduce_ring(3)
    assert hm.simulate(schedule, t, 1 << 24).seconds >= hm.lower_bound(t, "all_reduce", 1 << 24).seconds


def test_ranks_of_a_host_take_turns_on_its_nics() -> None:
    """Given two ranks on a switch with two NICs alike: one each, as without a message that needs both."""
    cables = [(rank, 4 + rank // 2, 1e-6, 100e9) for rank in range(4)]
    cables += [(switch, 6, 1e-6, 10e9) for switch in (4, 5) for _ in range(2)]
    t = topology(4, 3, *cables, nodes=(0, 0, 1, 1))
    collective = hm.Collective.custom(4, 2, before=[(0, 0), (1, 1)], after=[(2, 0), (2, 1)])
    pair = hm.Schedule.from_transfers(collective, [(0, 0, 2, 0, False), (0, 1, 2, 1, False)])
    assert hm.simulate(pair, t, 20_000_000).seconds == pytest.approx(1e-3 + 4e-6, rel=1e-3)


def test_of_parallel_links_between_switches_the_quickest_does_not_win_where_it_is_slow() -> None:
    """Given two switches of two ranks, joined by 3 GB/s at 500 ns and 345 GB/s at 600 ns."""
    ports = [(rank, 4 + rank // 2, 0.1e-6, 400e9) for rank in range(4)]
    t = topology(4, 2, *ports, (4, 5, *SLOW), (4, 5, *FAST))
    plan = hm.plan(t, "all_reduce", 1 << 30)
    assert plan.seconds < 1.3 * plan.bound_s


def test_a_topology_without_ways_side_by_side_is_simulated_as_it_is() -> None:
    t = hm.topologies.torus([3, 3], latency_s=1e-6, bandwidth=1e9)
    line = hm.simulate(hm.algorithms.all_reduce_ring(9), t, 9_000_000)
    assert np.count_nonzero(line.link_busy_s) > 0
    assert len(line.link_busy_s) == t.link_count
