"""What a communicator runs where messages leave zeros out: what does not fill up, unless dense data lose by it."""

from __future__ import annotations

import pytest

import hemiola as hm
from hemiola.planner import communicator_plans
from hemiola.planner.communicator_plans import CommunicatorPlans
from hemiola.planner.recipe import Recipe

RANKS = 8
SWITCH = hm.topologies.switch(RANKS, latency_s=1e-5, bandwidth=1e9)
RING = hm.topologies.ring(RANKS, latency_s=1e-5, bandwidth=1e9)


def chosen(network: hm.Topology, hosts: list[int], kind: str, nbytes: int, sparse: bool) -> str:
    """Return the algorithm that ranks on these hosts, between which this network was measured, choose."""
    plans = CommunicatorPlans(range(RANKS), hosts, None, None, hm.Conditions())
    plans._network = network
    return Recipe.from_bytes(plans.decide(kind, nbytes, 0, {}, "", sparse)).algorithm


@pytest.mark.parametrize("kind", ["reduce_scatter", "all_reduce"])
def test_a_large_sparse_reduction_between_hosts_is_direct(kind: str) -> None:
    hosts = list(range(RANKS))
    assert chosen(SWITCH, hosts, kind, 64 << 20, False) == f"{kind}_ring"
    assert chosen(SWITCH, hosts, kind, 64 << 20, True) == f"{kind}_direct_rounds"


def test_what_is_direct_anyhow_stays() -> None:
    hosts = [0] * RANKS
    dense = chosen(SWITCH, hosts, "reduce_scatter", 1 << 20, False)
    assert dense == "reduce_scatter_direct"
    assert chosen(SWITCH, hosts, "reduce_scatter", 1 << 20, True) == dense


@pytest.mark.parametrize("kind", ["all_gather", "all_reduce", "reduce_scatter"])
def test_where_relays_are_faster_dense_they_run_sparse(kind: str) -> None:
    hosts = [0] * RANKS
    assert chosen(RING, hosts, kind, 64 << 20, True) == chosen(RING, hosts, kind, 64 << 20, False)


def test_the_limit_is_what_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(communicator_plans, "_MOST_LOST", 0.5)
    assert chosen(SWITCH, list(range(RANKS)), "reduce_scatter", 64 << 20, True) == "reduce_scatter_ring"
