# SPDX-License-Identifier: Apache-2.0
"""Small all-reduces where latency decides: one all-gather's, by scratch slots."""

from __future__ import annotations

import pytest

import hemiola as hm

FAST = {"latency_s": 30e-9, "bandwidth": 150e9}


@pytest.mark.parametrize(
    ("network", "nbytes", "most"),
    [
        (hm.topologies.ring(128, **FAST), 1024, 1.3),  # one that adds up on the way: 2.0
        (hm.topologies.ring(128, **FAST), 8, 1.01),
        (hm.topologies.torus([8, 8], **FAST), 8, 1.01),
        (hm.topologies.torus([4, 4, 4], **FAST), 1024, 1.3),
    ],
    ids=["ring 1 KiB", "ring 8 B", "torus 8 B", "torus 1 KiB"],
)
def test_a_small_all_reduce_takes_one_diameter(network: hm.Topology, nbytes: int, most: float) -> None:
    plan = hm.plan(network, "all_reduce", nbytes)
    assert plan.name in ("one_shot", "all_reduce_recursive_multiplying", "all_reduce_swing")
    assert 1 <= plan.seconds / plan.bound_s <= most
    assert hm.verify(plan.schedule) == []


@pytest.mark.parametrize("wires", ["switch", "full mesh", "box"])
@pytest.mark.parametrize("ranks", [3, 8, 13])
def test_eight_bytes_at_one_hop_take_one_latency(wires: str, ranks: int) -> None:
    """Given 5 us and 25 GB/s. Derivation: 5 us + 8 B · (n-1) / 25 GB/s. Expect 5.0 us, not two latencies."""
    speed = {"latency_s": 5e-6, "bandwidth": 25e9}
    network = {
        "switch": lambda: hm.topologies.switch(ranks, **speed),
        "full mesh": lambda: hm.topologies.fully_connected(ranks, **speed),
        "box": lambda: hm.topologies.dgx_h100(1),
    }[wires]()
    plan = hm.plan(network, "all_reduce", 8)
    assert plan.name == "one_shot"
    assert plan.seconds == pytest.approx(plan.bound_s, rel=1e-2)
    assert hm.verify(plan.schedule) == []


@pytest.mark.parametrize(
    ("ranks", "label"),
    [(4, "one_shot (direct)"), (61, "one_shot (bruck)"), (64, "all_reduce_recursive_multiplying (4x4x4)")],
)
def test_where_messages_cost_time_many_ranks_send_few(ranks: int, label: str) -> None:
    # Given 5 us, and 1 us a message. Derivation: direct takes 5 + (n-1) us: 8 of four ranks, 68 of 64. Bruck's six
    # rounds take 30 us and a message at the least. Three steps with three messages each take 3 · (5 + 3) us.
    # Recursive doubling takes 6 · 6 us and more. Expect the least.
    network = hm.topologies.switch(ranks, latency_s=5e-6, bandwidth=25e9, message_s=1e-6)
    plan = hm.plan(network, "all_reduce", 8)
    assert plan.alternatives[0].label == label
    assert hm.verify(plan.schedule) == []
    doubling = hm.algorithms.all_reduce_recursive_doubling(ranks)
    assert plan.seconds <= hm.simulate(doubling, network, 8).seconds


@pytest.mark.parametrize(
    ("sides", "nbytes", "most"),
    [
        ((9, 9), 16 << 10, 1.31),
        ((5, 5, 5), 32 << 10, 1.4),
        ((8, 8, 8), 8 << 10, 1.1),
        ((5, 3), 4 << 10, 1.1),
    ],
)
def test_small_buffers_go_through_a_torus_by_dimensions(
    sides: tuple[int, ...], nbytes: int, most: float
) -> None:
    """One diameter, with sums on the way; the best of others took 1.5 to 2 times the bound."""
    network = hm.topologies.torus(list(sides), latency_s=0.5e-6, bandwidth=50e9)
    plan = hm.plan(network, "all_reduce", nbytes)
    assert plan.name == "all_reduce_recursive_multiplying"
    assert plan.seconds <= most * plan.bound_s
    assert hm.verify(plan.schedule) == []


@pytest.mark.parametrize(
    ("hosts", "nbytes", "variant", "most_s"),
    [
        ((16, 8, 8), 8, "8x4x4", 18.1e-6),
        ((16, 8, 8), 64 << 10, "8x4x4, 1 scattered", 23.2e-6),
        ((8, 8, 4), 64 << 10, "8x2x4, 1 scattered", 25.9e-6),
    ],
)
def test_small_buffers_are_scattered_inside_hosts_only_where_bytes_count(
    hosts: tuple[int, int, int], nbytes: int, variant: str, most_s: float
) -> None:
    """Given 2 us inside and 5 us between hosts, and 1 us a message there, of 16 hosts of 8 ranks with a NIC each.
    Derivation: 2 us inside, and two steps of 5 us with three messages. Expect 18 us; scattered and gathered 2 us and
    the bytes more."""
    speed = {"latency_s": 2e-6, "bandwidth": 100e9, "nic_latency_s": 5e-6, "nic_bandwidth": 25e9}
    network = hm.topologies.hosts(*hosts, **speed, nic_message_s=1e-6)
    plan = hm.plan(network, "all_reduce", nbytes)
    assert plan.alternatives[0].label == f"all_reduce_recursive_multiplying ({variant})"
    assert plan.seconds <= most_s
    assert hm.verify(plan.schedule) == []


def test_what_is_large_or_sparse_has_no_scratch_slots() -> None:
    ring, switch = hm.topologies.ring(16, **FAST), hm.topologies.switch(16, **FAST)
    sparse = hm.Conditions(density=0.01)
    for plan in (
        hm.plan(ring, "all_reduce", 1 << 22),
        hm.plan(switch, "all_reduce", 1 << 22),
        hm.plan(ring, "all_gather", 1024),
    ):
        assert plan.name not in ("one_shot", "all_reduce_recursive_multiplying")
    for network in (ring, switch):
        coded = hm.plan(network, "all_reduce", 1024, sparse).coded
        assert coded is None or coded.coded_name is None or "one_shot" not in coded.coded_name


@pytest.mark.parametrize("effort", [1.0, 50.0])
def test_more_ranks_than_have_scratch_slots_are_planned_without(effort: float) -> None:
    network = hm.topologies.switch(2048, latency_s=1e-3, bandwidth=25e9)
    plan = hm.plan(network, "all_reduce", 8, effort=effort)
    assert plan.name != "one_shot"


def test_a_row_with_too_many_scratch_slots_is_left_out() -> None:
    found = hm.plan(hm.topologies.switch_2d([2, 2048], latency_s=1e-6, bandwidth=1e9), "all_reduce", 1024)
    assert any("slots of all ranks" in one.reason for one in found.left_out), found.left_out


def test_ranks_of_unequal_hosts_exchange_whole_buffers_directly() -> None:
    """Given hosts of 2, 4 and 4 ranks, whose shape is no grid. Expect one step, which a synthesized gather exceeds."""
    speed = {"latency_s": 1e-6, "bandwidth": 100e9, "nic_latency_s": 5e-6, "nic_bandwidth": 12.5e9}
    network = hm.topologies.cluster([hm.topologies.Host(ranks, **speed) for ranks in (2, 4, 4)])
    plan = hm.plan(network, "all_reduce", 424)
    rival = hm.algorithms.all_gather_direct(10).one_shot_all_reduce()
    assert plan.seconds <= 1.0005 * hm.simulate(rival, network, 424).seconds


def test_unequal_hosts_with_dear_messages_scatter_by_a_factor_of_their_ranks() -> None:
    speed = {"latency_s": 1e-6, "bandwidth": 100e9, "nic_latency_s": 5e-6, "nic_bandwidth": 12.5e9}
    costs = {"message_s": 1e-6, "nic_message_s": 1e-6}
    network = hm.topologies.cluster([hm.topologies.Host(ranks, **speed, **costs) for ranks in (4, 4, 2, 2)])
    plan = hm.plan(network, "all_reduce", 27_703)
    rival = hm.algorithms.all_reduce_recursive_multiplying((4, 3), ("switch",) * 2, scattered=1)
    assert plan.seconds <= 1.0005 * hm.simulate(rival, network, 27_703).seconds


def test_where_messages_cost_time_uneven_networks_have_bruck_gather_whole_buffers() -> None:
    # Given 19 ranks, a prime, in hosts of 10 and 9: their one factor is 18 messages, and Bruck's rounds are five.
    speed = {"latency_s": 1e-6, "bandwidth": 100e9, "nic_latency_s": 1e-6, "nic_bandwidth": 50e9}
    costs = {"message_s": 1e-6, "nic_message_s": 1e-6}
    network = hm.topologies.cluster([hm.topologies.Host(ranks, **speed, **costs) for ranks in (10, 9)])
    plan = hm.plan(network, "all_reduce", 64)
    rival = hm.algorithms.all_gather_bruck(19).one_shot_all_reduce()
    assert plan.seconds <= 1.0005 * hm.simulate(rival, network, 64).seconds
    assert "one_shot (bruck)" in {one.label for one in plan.alternatives}


@pytest.mark.parametrize("kind", ["broadcast", "reduce"])
@pytest.mark.parametrize("nbytes", [8, 300])
def test_few_bytes_from_one_root_go_in_one_two_or_four_chunks(kind: str, nbytes: int) -> None:
    # Given 1 us a message: more chunks are more messages.
    speed = {"latency_s": 1e-6, "bandwidth": 100e9, "nic_latency_s": 5e-6, "nic_bandwidth": 25e9}
    network = hm.topologies.hosts(4, 4, **speed, message_s=1e-6, nic_message_s=1e-6)
    plan = hm.plan(network, kind, nbytes)
    tried = {one.variant for one in plan.alternatives if one.name == "synthesized"}
    assert {"1 chunks", "2 chunks", "4 chunks"} <= tried
    assert hm.verify(plan.schedule) == []


def test_on_a_line_small_buffers_swing_from_the_farthest_peers_to_the_nearest() -> None:
    """Given 4 ranks, 35 KB, 1 us a link and a message. Rank 1 comes 2.2 us late, when its first message is to wait."""
    network = hm.topologies.mesh([4], latency_s=1e-6, bandwidth=100e9, message_s=1e-6)
    late = hm.Conditions(late={1: 2.2e-6})
    plan = hm.plan(network, "all_reduce", 35_000, late)
    assert plan.name == "bine"
    assert hm.verify(plan.schedule) == []
    swing = hm.algorithms.all_reduce_swing((4,))
    assert plan.seconds < 0.75 * hm.simulate(swing, network, 35_000, late).seconds


def test_a_tapered_group_swings_whole_buffers() -> None:
    speed = {"latency_s": 1e-6, "bandwidth": 100e9, "nic_latency_s": 5e-6, "nic_bandwidth": 25e9}
    network = hm.topologies.hosts(8, 1, **speed, nic_message_s=1e-6, nodes_per_group=4, taper=4.0)
    plan = hm.plan(network, "all_reduce", 58_814)
    swing = hm.algorithms.all_reduce_swing((8,))
    assert plan.seconds <= 1.0005 * hm.simulate(swing, network, 58_814).seconds


def test_a_side_of_two_ranks_passes_nothing_on_and_is_scattered_along() -> None:
    network = hm.topologies.torus([2, 2, 2], latency_s=1e-6, bandwidth=25e9)
    links = network.links.copy()
    links["message_s"] = 1e-6
    dear = network.replaced(links=links)
    plan = hm.plan(dear, "all_reduce", 8 << 20)
    rival = hm.algorithms.all_reduce_recursive_multiplying((2,) * 3, ("ring",) * 3, scattered=2, parts=3)
    assert plan.seconds <= 1.01 * hm.simulate(rival, dear, 8 << 20).seconds
    assert hm.verify(plan.schedule) == []
