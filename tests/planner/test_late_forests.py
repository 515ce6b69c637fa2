"""Forests around a late rank are in the race on networks of a hundred ranks, too, and named where they are not."""

from __future__ import annotations

import pytest

import hemiola as hm
from hemiola.synthesis import late_forest

NBYTES, DELAY_S = 256 << 20, 1.0
LINKS = {"latency_s": 0.5e-6, "bandwidth": 50e9}
HOSTS = {"latency_s": 1e-6, "bandwidth": 80e9, "nic_latency_s": 3e-6, "nic_bandwidth": 12.5e9}


@pytest.mark.parametrize(
    "topology",
    [
        hm.topologies.torus([8, 8], **LINKS),
        hm.topologies.mesh([8, 8], **LINKS),
        hm.topologies.torus([10, 10], **LINKS),
        hm.topologies.hosts(12, 8, **HOSTS),
    ],
    ids=str,
)
def test_a_plan_is_no_slower_than_the_forest_that_the_project_makes(topology: hm.Topology) -> None:
    late = hm.Conditions(late={1: DELAY_S})
    made = late_forest(topology, 1, pieces=256, nbytes=NBYTES)
    by_hand_s = hm.simulate(made, topology, NBYTES, late).seconds - DELAY_S
    planned_s = hm.plan(topology, "all_reduce", NBYTES, late).seconds - DELAY_S
    assert planned_s <= 1.001 * by_hand_s


@pytest.mark.parametrize("dims", [[12, 12], [14, 14]])
def test_what_is_too_large_is_named(dims: list[int]) -> None:
    plan = hm.plan(hm.topologies.torus(dims, **LINKS), "all_reduce", NBYTES, hm.Conditions(late={1: DELAY_S}))
    assert "late_forest" in plan.explain()
