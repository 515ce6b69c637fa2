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


def test_what_is_large_or_one_switch_or_sparse_has_no_scratch_slots() -> None:
    ring, switch = hm.topologies.ring(16, **FAST), hm.topologies.switch(16, **FAST)
    sparse = hm.Conditions(density=0.01)
    for plan in (
        hm.plan(ring, "all_reduce", 1 << 22),
        hm.plan(switch, "all_reduce", 8),
        hm.plan(ring, "all_gather", 1024),
    ):
        assert "one_shot" not in {one.name for one in plan.alternatives}
    coded = hm.plan(ring, "all_reduce", 1024, sparse).coded
    assert coded is None or coded.coded_name is None or "one_shot" not in coded.coded_name
