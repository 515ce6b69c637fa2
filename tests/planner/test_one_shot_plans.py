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
    assert plan.name == "one_shot"
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


@pytest.mark.parametrize(("ranks", "variant"), [(4, "direct"), (64, "bruck")])
def test_where_messages_cost_time_many_ranks_send_few(ranks: int, variant: str) -> None:
    # Given 5 us, and 1 us a message. Derivation: direct takes 5 + (n-1) us: 8 of four ranks, 68 of 64. Six rounds
    # take 30 us and a message at the least, where recursive doubling takes 6 · 6 us. Expect the lesser one.
    network = hm.topologies.switch(ranks, latency_s=5e-6, bandwidth=25e9, message_s=1e-6)
    plan = hm.plan(network, "all_reduce", 8)
    assert plan.alternatives[0].label == f"one_shot ({variant})"
    doubling = hm.algorithms.all_reduce_recursive_doubling(ranks)
    assert plan.seconds <= hm.simulate(doubling, network, 8).seconds


def test_what_is_large_or_sparse_has_no_scratch_slots() -> None:
    ring, switch = hm.topologies.ring(16, **FAST), hm.topologies.switch(16, **FAST)
    sparse = hm.Conditions(density=0.01)
    for plan in (
        hm.plan(ring, "all_reduce", 1 << 22),
        hm.plan(switch, "all_reduce", 1 << 22),
        hm.plan(ring, "all_gather", 1024),
    ):
        assert "one_shot" not in {one.name for one in plan.alternatives}
    for network in (ring, switch):
        coded = hm.plan(network, "all_reduce", 1024, sparse).coded
        assert coded is None or coded.coded_name is None or "one_shot" not in coded.coded_name


@pytest.mark.parametrize("effort", [1.0, 50.0])
def test_more_ranks_than_have_scratch_slots_are_planned_without(effort: float) -> None:
    network = hm.topologies.switch(2048, latency_s=1e-3, bandwidth=25e9)
    plan = hm.plan(network, "all_reduce", 8, effort=effort)
    assert plan.name != "one_shot"
