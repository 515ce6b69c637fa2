# SPDX-License-Identifier: Apache-2.0
"""Which way a message goes: out of as few hosts and past as few ranks as can be, then by its own time."""

from __future__ import annotations

import pytest

import hemiola as hm

US, GBPS = 1e-6, 1e9


def topology(rank_count: int, switch_count: int, *cables, nodes=()) -> hm.Topology:
    """Build one of cables (a, b, latency_s, bandwidth), each a link both ways: links 2c and 2c + 1 of cable c."""
    links = [(*ends, s, rate) for a, b, s, rate in cables for ends in ((a, b), (b, a))]
    return hm.Topology(rank_count, links, switch_count=switch_count, nodes=list(nodes))


def cables_used(t: hm.Topology, dst: int, nbytes: int) -> tuple[list[int], float]:
    """Send one message from rank 0; return the cables that it took, and its time."""
    promise = hm.Collective.custom(t.rank_count, 1, before=[(0, 0)], after=[(dst, 0)])
    one = hm.Schedule.from_transfers(promise, [(0, 0, dst, 0, False)])
    line = hm.simulate(one, t, nbytes)
    return [link // 2 for link, busy in enumerate(line.link_busy_s) if busy > 0], line.seconds


@pytest.mark.parametrize(
    ("nbytes", "cables", "seconds"), [(1000, [0], 2 * US), (10_000_000, [1, 2], 100 * US + 4 * US)]
)
def test_a_large_message_leaves_a_slow_link_for_a_fast_switch(
    nbytes: int, cables: list[int], seconds: float
) -> None:
    """Given 1 GB/s at 1 µs, or 100 GB/s at twice 2 µs. Derivation: 1 kB takes 2 µs or 4.01, 10 MB 10 ms or 0.104."""
    t = topology(
        3, 1, (0, 1, US, GBPS), (0, 3, 2 * US, 100 * GBPS), (1, 3, 2 * US, 100 * GBPS), (2, 3, US, GBPS)
    )
    used, time = cables_used(t, 1, nbytes)
    assert used == cables
    assert time == pytest.approx(seconds, rel=1e-6)


def test_no_rank_relays_where_switches_lead_there() -> None:
    """Given a slow link, and a rank beside it over which all is faster: schedules relay, routes do not."""
    t = topology(3, 0, (0, 1, US, GBPS), (0, 2, US, 100 * GBPS), (2, 1, US, 100 * GBPS))
    assert cables_used(t, 1, 10_000_000)[0] == [0]


@pytest.mark.parametrize(("nbytes", "cables"), [(1000, [4, 5]), (2000, [0, 1, 2, 3])])
def test_a_rank_relays_what_is_there_before_switches_bring_a_byte(nbytes: int, cables: list[int]) -> None:
    """Given four links of 1 us and 1 GB/s past switches, or two past a rank: 1 kB takes 3 us, before 4; 2 kB 4."""
    switches = [(0, 3, US, GBPS), (3, 4, US, GBPS), (4, 5, US, GBPS), (5, 1, US, GBPS)]
    t = topology(3, 3, *switches, (0, 2, US, GBPS), (2, 1, US, GBPS))
    assert cables_used(t, 1, nbytes)[0] == cables


def test_ranks_relay_by_the_faster_of_two_ways() -> None:
    """Given two ranks to relay, one of low latency and one of high bandwidth."""
    t = topology(
        4, 0, (0, 1, US, GBPS), (1, 3, US, GBPS), (0, 2, 2 * US, 10 * GBPS), (2, 3, 2 * US, 10 * GBPS)
    )
    assert cables_used(t, 3, 100)[0] == [0, 1]
    assert cables_used(t, 3, 1_000_000)[0] == [2, 3]


def test_ranks_of_a_host_talk_inside_it() -> None:
    """Given two hosts of three ranks in a line, and a NIC of 100 GB/s a rank: 0 reaches 2 past 1 all the same."""
    inside = [(a, a + 1, US, GBPS) for a in (0, 1, 3, 4)]
    nics = [(rank, 6, US, 100 * GBPS) for rank in range(6)]
    t = topology(6, 1, *inside, *nics, nodes=(0, 0, 0, 1, 1, 1))
    assert cables_used(t, 2, 10_000_000)[0] == [0, 1]


@pytest.mark.parametrize("network", ["fluid", "fifo"])
def test_unlike_ways_between_switches_are_shared_by_all_ranks_behind_them(network: str) -> None:
    """Given two sockets of two ranks, joined by 30 GB/s through one switch and 10 GB/s through another: 40 GB/s."""
    ports = [(rank, 4 + rank // 2, 0.0, 1000 * GBPS) for rank in range(4)]
    ways = [(4, 6, US, 30 * GBPS), (6, 5, US, 30 * GBPS), (4, 7, US, 10 * GBPS), (7, 5, US, 10 * GBPS)]
    t = topology(4, 4, *ports, *ways)
    promise = hm.Collective.custom(4, 2, before=[(0, 0), (1, 1)], after=[(2, 0), (3, 1)])
    two = hm.Schedule.from_transfers(promise, [(0, 0, 2, 0, False), (0, 1, 3, 1, False)])
    seconds = hm.simulate(two, t, 80_000_000, network=network).seconds
    assert 2e-3 <= seconds <= 2.1e-3


def test_a_link_of_almost_no_bandwidth_is_no_way() -> None:
    """Given a direct link whose inverse is infinite, and a switch beside it: 1 kB takes 1 µs, and 1 µs a link."""
    t = topology(3, 1, (0, 1, US, 2e-315), (0, 3, US, GBPS), (1, 3, US, GBPS), (2, 3, US, GBPS))
    assert cables_used(t, 1, 1000) == ([1, 2], pytest.approx(3 * US))
