# SPDX-License-Identifier: Apache-2.0
"""Lower bounds: each by hand on a small network, and all of them below every simulated schedule."""

import itertools

import pytest
from networks import KB, US, fully_connected, line, one_way_ring, switch, two_unequal_switches

import hemiola as hm
from bounds import judge
from hemiola import errors
from random_problems import KINDS, random_problem

NETWORKS = {
    "ring": lambda n: one_way_ring(n, US, 1e9),
    "switch": lambda n: switch(n, US, 1e9),
    "fully connected": lambda n: fully_connected(n, US, 1e9),
    "line": lambda n: line(n, US, 3e8),
    "two switches": two_unequal_switches,
    "hosts": lambda n: hm.topologies.hosts(
        n, 1, 2, latency_s=US, bandwidth=4e9, nic_latency_s=3 * US, nic_bandwidth=1e9, rails=True
    ),
    "two-way ring": lambda n: hm.topologies.ring(n, latency_s=US, bandwidth=1e9),
}
CONDITIONS = {
    "none": lambda n: hm.Conditions(),
    "late": lambda n: hm.Conditions(late={n - 1: 20 * US}),
    "slow": lambda n: hm.Conditions(slow={0: 2.5}),
    "both": lambda n: hm.Conditions(late={0: 7 * US, 1: 3 * US}, slow={0: 2, n - 1: 1.5}),
}


def named(bound: hm.LowerBound, name: str) -> float:
    return next(b.seconds for b in bound.bounds if b.name == name)


@pytest.mark.parametrize("network", ["fifo", "fluid"])
@pytest.mark.parametrize("name", hm.algorithms.names())
def test_no_schedule_beats_the_bound(name, network):
    algorithm = hm.algorithms.get(name)
    for ranks, topology, conditions in itertools.product((2, 3, 5, 8), NETWORKS, CONDITIONS):
        if not algorithm.is_valid(ranks):
            continue
        root = 1 if algorithm.is_rooted else 0
        schedule = algorithm.generate(ranks, root)
        graph, now = NETWORKS[topology](ranks), CONDITIONS[conditions](ranks)
        for nbytes in (1, 1001, 840 * KB):
            bound = hm.lower_bound(graph, algorithm.kind, nbytes, now, root)
            seconds = hm.simulate(schedule, graph, nbytes, now, network).seconds
            # The simulator rounds each message to the nearest picosecond, half a picosecond down at most.
            rounding = 0.5e-12 * schedule.transfer_count
            assert seconds >= bound.seconds - rounding, (ranks, topology, conditions, nbytes, bound)


@pytest.mark.parametrize("first", range(3000, 4500, 500))
def test_no_random_schedule_beats_the_bound_on_a_random_network(first):
    tally = judge(range(first, first + 500))
    assert not tally.broken, "\n".join(map(str, tally.broken))
    assert tally.met > 100  # the schedules try


def test_random_problems_are_right_and_of_every_kind():
    problems = [random_problem(seed) for seed in range(3000, 3300)]
    assert all(hm.verify(problem.schedule) == [] for problem in problems)
    assert {problem.kind for problem in problems} == set(KINDS)
    assert {bool(problem.conditions.late) for problem in problems} == {True, False}
    assert {bool(problem.conditions.slow) for problem in problems} == {True, False}


def test_a_relay_s_link_is_not_free_before_what_it_relays_has_come():
    # Given 0 -> 1 of 10 us and 10 GB/s, 1 -> 2 without latency and of 100 MB/s; 2 kB from 0, all of it to rank 1, half
    # of it to rank 2 at once, half from rank 1.
    # Derivation: rank 2 gets its first byte after 10 us and the last 20 us later. Stored and forwarded after the two
    # others, what goes to rank 2 at once reaches rank 1 at 10.3, and what rank 1 sends there left from 10.1 on.
    graph = hm.Topology(3, [(0, 1, 10 * US, 10e9), (1, 2, 0, 1e8)])
    s = hm.Schedule.from_transfers(
        hm.Collective.make("broadcast", 3, 2), [(0, 0, 1, 0), (0, 0, 1, 1), (0, 0, 2, 1), (1, 1, 2, 0)]
    )
    assert hm.verify(s) == []
    assert hm.lower_bound(graph, "broadcast", 2 * KB).seconds == pytest.approx(30 * US, rel=1e-12)
    assert hm.simulate(s, graph, 2 * KB).seconds == pytest.approx(30 * US, rel=1e-12)
    assert hm.simulate(s, graph, 2 * KB, network="fifo").seconds == pytest.approx(30.1 * US, rel=1e-12)


def test_ring_all_reduce_on_its_ring_meets_the_traffic_bound_but_for_the_latencies():
    # Given 8 ranks on a ring of 1 us, 1 GB/s, 8 kB.
    # Derivation: all send 2 * 7 * 8 kB = 112 kB through 8 GB/s: 14 us, and the last byte travels 1 us.
    # The ring takes 14 us of bytes and 14 us of latencies.
    bound = hm.lower_bound(one_way_ring(8, US, 1e9), "all_reduce", 8 * KB)
    assert named(bound, "traffic") == pytest.approx(15 * US, rel=1e-12)


def test_direct_all_gather_through_a_switch_meets_the_port_bound():
    # Derivation: a rank receives 7 kB at 1 GB/s, and the last byte is 1 us away.
    bound = hm.lower_bound(switch(8, US, 1e9), "all_gather", 8 * KB)
    assert bound.seconds == pytest.approx(8 * US, rel=1e-12)
    assert bound.witness == "rank 0 must receive 6.836 KiB through a port of 1 GB/s"


def test_the_witness_speaks_of_the_ports_that_there_are():
    # Given rank 0 with eight links of 125 MB/s, one to each other rank; and, on a line, links of 1 and 4 GB/s.
    star = [(0, other, 0, 125e6) for other in range(1, 9)] + [(other, 0, 0, 1e9) for other in range(1, 9)]
    out = hm.lower_bound(hm.Topology(9, star), "scatter", 9 * KB)
    assert "rank 0 must send 7.812 KiB through 8 ports of 125 MB/s, together 1 GB/s" in out.witness
    mixed = hm.Topology(3, [(0, 1, 0, 1e9), (1, 0, 0, 1e9), (1, 2, 0, 4e9), (2, 1, 0, 4e9)])
    witnesses = [bound.witness for bound in hm.lower_bound(mixed, "all_gather", 3 * KB).bounds]
    assert any("through 4 ports of 1 GB/s to 4 GB/s, together 10 GB/s" in witness for witness in witnesses)


@pytest.mark.parametrize(
    ("kind", "sent_by_root", "received_by_root"),
    [("broadcast", 8, 0), ("reduce", 0, 8), ("scatter", 7, 0), ("gather", 0, 7)],
)
def test_the_root_of_a_rooted_collective_sends_or_receives_all(kind, sent_by_root, received_by_root):
    # Given a network in which the ports of rank 3 are 100 times slower than the others', and no latency.
    bound = hm.lower_bound(switch(8, 0, 1e9), kind, 8 * KB, hm.Conditions(slow={3: 100}), root=3)
    assert named(bound, "ports") == pytest.approx((sent_by_root + received_by_root) * 100 * US, rel=1e-12)


def test_all_to_all_sends_each_rank_its_part():
    bound = hm.lower_bound(switch(4, 0, 1e9), "all_to_all", 8 * KB)
    assert bound.seconds == pytest.approx(6 * US, rel=1e-12)


def test_a_port_with_several_links_uses_all_of_them_as_soon_as_each_can_deliver():
    # Given two links from 0 to 1: 1 GB/s at once, and 1 GB/s with 2 us of latency; 10 kB to broadcast.
    # Derivation: 2 kB by 2 us over the first, then 2 GB/s for the other 8 kB. Expect 6 us.
    graph = hm.Topology(2, [(0, 1, 0, 1e9), (0, 1, 2 * US, 1e9), (1, 0, 0, 1e9)])
    assert named(hm.lower_bound(graph, "broadcast", 10 * KB), "ports") == pytest.approx(6 * US, rel=1e-12)


def test_what_is_relayed_takes_the_ports_of_every_rank_on_its_way():
    # Given a two-way ring of 4 and 2 kB for each pair: to 1, 2 and 1 hops, so 8 kB of hops per rank, 32 kB in all,
    # over 8 links of 1 GB/s, and 1 us. Through a switch nothing is relayed: 6 kB per port.
    graph = hm.topologies.ring(4, latency_s=US, bandwidth=1e9)
    assert named(hm.lower_bound(graph, "all_to_all", 8 * KB), "relays") == pytest.approx(5 * US, rel=1e-12)
    assert named(hm.lower_bound(switch(4), "all_to_all", 8 * KB), "relays") == pytest.approx(
        7 * US, rel=1e-12
    )


def test_gather_and_scatter_along_a_line_relay_everything_past_every_rank():
    # Given a line of 4 without latency, 2 kB each, root 0: 2 + 4 + 6 = 12 kB of hops over 6 links.
    for kind in ("gather", "scatter"):
        bound = hm.lower_bound(line(4, 0), kind, 8 * KB)
        assert named(bound, "relays") == pytest.approx(2 * US, rel=1e-12)


def test_the_two_ends_of_a_line_bound_the_latency():
    bound = hm.lower_bound(line(6, US, 1e9), "all_gather", 6)
    assert named(bound, "distance") == pytest.approx(5.001 * US, rel=1e-9)


def test_what_a_late_rank_brings_leaves_after_it_arrives():
    # Derivation: all 8 kB of rank 7's part must leave it after 5 us, at 1 GB/s, and travel 1 us.
    bound = hm.lower_bound(switch(8, US, 1e9), "all_reduce", 8 * KB, hm.Conditions(late={7: 5 * US}))
    assert named(bound, "distance") == pytest.approx(14 * US, rel=1e-12)
    assert named(bound, "arrival") == pytest.approx(5 * US, rel=1e-12)


def test_a_slow_receiver_of_a_late_rank_is_bound_by_its_own_port():
    now = hm.Conditions(late={7: 5 * US}, slow={2: 2})
    bound = hm.lower_bound(switch(8, US, 1e9), "all_reduce", 8 * KB, now)
    assert bound.seconds == pytest.approx(22 * US, rel=1e-12)
    assert bound.witness.startswith("7.812 KiB of rank 7 must reach rank 2")


def test_one_rank_needs_no_time_but_its_own_arrival():
    graph = hm.Topology(1, [])
    assert hm.lower_bound(graph, "all_reduce", KB).seconds == 0
    assert hm.lower_bound(graph, "all_reduce", KB, hm.Conditions(late={0: US})).seconds == US


def test_large_networks_are_bounded_from_the_two_ends_found_by_search():
    # 3,000 ranks are more than are searched from; the ends of a line are found all the same.
    bound = hm.lower_bound(line(3000, US, 1e9), "all_gather", 3000)
    assert named(bound, "distance") == pytest.approx(2999.001 * US, rel=1e-9)


@pytest.mark.parametrize(
    ("kind", "nbytes", "conditions", "root"),
    [
        ("all_product", KB, None, 0),
        ("custom", KB, None, 0),
        ("all_reduce", -1, None, 0),
        ("all_reduce", 2**60, None, 0),
        ("broadcast", KB, None, 4),
        ("broadcast", KB, None, -1),
        ("all_reduce", KB, hm.Conditions(late={4: US}), 0),
        ("all_reduce", KB, hm.Conditions(slow={4: 2.0}), 0),
    ],
)
def test_rejects(kind, nbytes, conditions, root):
    with pytest.raises(errors.ArgumentError):
        hm.lower_bound(one_way_ring(4, US, 1e9), kind, nbytes, conditions, root)


@pytest.mark.parametrize(("latency_s", "bandwidth"), [(1000, 1e9), (0, 1e-300), (1000, 1e-300)])
def test_bounds_of_absurd_networks_end_at_a_hundred_days(latency_s, bandwidth):
    for kind in ("all_reduce", "all_to_all", "gather"):
        bound = hm.lower_bound(line(5, latency_s, bandwidth), kind, KB, hm.Conditions(late={1: 8e6}))
        assert 8e6 <= bound.seconds <= 9.3e6


def test_the_fastest_links_there_are_have_a_bound():
    # Given two ranks and 32 links each way of 1e18 B/s: sums that 64 bits do not hold.
    graph = hm.Topology(2, [(a, 1 - a, 0, 1e18) for a in (0, 1)] * 32)
    for kind in ("all_gather", "all_reduce", "broadcast", "scatter", "all_to_all"):
        assert 0 <= hm.lower_bound(graph, kind, KB).seconds < 1e-12


def test_a_nameless_network_is_spoken_of_as_such():
    graph = hm.Topology(2, [(1, 0, US, 1e9)])
    with pytest.raises(errors.ArgumentError, match=r"^the topology has no path from rank 0 to rank 1"):
        hm.lower_bound(graph, "broadcast", KB)


def test_names_a_rank_that_cannot_be_reached():
    graph = hm.Topology(3, [(0, 1, US, 1e9), (1, 0, US, 1e9), (2, 0, US, 1e9)], name="leaky")
    with pytest.raises(errors.ArgumentError, match="no path from rank 0 to rank 2") as caught:
        hm.lower_bound(graph, "all_gather", KB)
    assert "no link leads from ranks 0, 1 to rank 2. Add a link" in str(caught.value)
    assert hm.lower_bound(graph, "reduce", KB, root=0).seconds > 0


def test_bytes_reach_a_rank_by_all_ways_each_as_long_as_it_is() -> None:
    """Given 1 GB/s directly after 1 us, and 4 GB/s past rank 2 after 3 us.

    Derivation: by T us these bring T - 1 and 4 (T - 3) kB: 10 kB by 4.6 us. Ports alone would bring them by 3.8.
    """
    cables = [(0, 1, 1e-6, 1e9), (0, 2, 1e-6, 4e9), (2, 1, 2e-6, 4e9)]
    t = hm.Topology(3, [(*way, *how) for a, b, *how in cables for way in ((a, b), (b, a))])
    bound = hm.lower_bound(t, "broadcast", 10_000)
    assert named(bound, "distance") == pytest.approx(4.6 * US, rel=1e-9)
    assert "over all ways together" in bound.witness


@pytest.mark.parametrize("delay_us", [0, 5])
def test_a_second_way_takes_back_what_the_first_one_took(delay_us: int) -> None:
    """Given links of 1 GB/s past switches 2 and 3: 0 to 2 to 3 to 1 after 2 us, 0 to 2 to 1 and 0 to 3 to 1 after 3 us.

    Derivation: the latter two bring 2 (T - 3) kB by T us, as ways after 2 and after 4 us do: 10 kB by 8 us. All that is
    later by as much as rank 0.
    """
    links = [(0, 2, 1e-6), (2, 3, 0.0), (3, 1, 1e-6), (2, 1, 2e-6), (0, 3, 2e-6)]
    t = hm.Topology(2, [(*link, 1e9) for link in links], switch_count=2)
    now = hm.Conditions(late={0: delay_us * US})
    bound = hm.lower_bound(t, "broadcast", 10_000, now)
    assert named(bound, "distance") == pytest.approx((8 + delay_us) * US, rel=1e-9)
