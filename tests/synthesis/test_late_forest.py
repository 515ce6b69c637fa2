# SPDX-License-Identifier: Apache-2.0
"""All-reduces around a late rank on any topology: right by `verify`, and near a broadcast from it in simulated time."""

from __future__ import annotations

import numpy as np
import pytest

import hemiola as hm
from hemiola.errors import ArgumentError
from hemiola.synthesis import late_forest

COST = {"latency_s": 1e-6, "bandwidth": 50e9}
LEVELS = {
    "hosts": lambda: hm.topologies.hosts(
        4, 4, latency_s=0.5e-6, bandwidth=80e9, nic_latency_s=1e-6, nic_bandwidth=12.5e9
    ),
    "2D switch": lambda: hm.topologies.switch_2d([4, 4], latency_s=[0.5e-6, 1e-6], bandwidth=[300e9, 25e9]),
    "RFS": lambda: hm.topologies.rfs_3d([2, 4, 2], latency_s=[0.5e-6] * 3, bandwidth=[200e9, 100e9, 50e9]),
}
NETWORKS = {
    "torus": lambda: hm.topologies.torus([4, 4], **COST),
    "mesh": lambda: hm.topologies.mesh([4, 4], **COST),
    "DGX-1": lambda: hm.topologies.dgx1(latency_s=0.7e-6, bandwidth=25e9),
    "fully connected": lambda: hm.topologies.fully_connected(8, **COST),
    **LEVELS,
}
#: Bytes, the late rank, and milliseconds after an arrival that leaves time to reduce: now, and planned before.
TIMES = {
    "torus": (256 << 20, 5, 1.46, 2.519),
    "mesh": (256 << 20, 5, 2.95, 3.502),
    "DGX-1": (1 << 30, 7, 7.6, 12.53),
    "fully connected": (1 << 30, 7, 3.10, 5.371),
    "hosts": (256 << 20, 5, 24.0, 32.8),
    "2D switch": (256 << 20, 5, 3.0, 4.04),
    "RFS": (256 << 20, 5, 0.75, 0.924),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_whoever_is_late_is_added_exactly_once(name: str) -> None:
    network = NETWORKS[name]()
    for late_rank in (0, 3, network.rank_count - 1):
        schedule = late_forest(network, late_rank, pieces=3)
        assert hm.verify(schedule, topology=network) == [], late_rank
        rows = schedule.transfers
        owners = schedule.collective.owner
        assert late_rank not in owners
        # The late rank gets every chunk once, complete.
        assert sorted(rows["chunk"][rows["dst"] == late_rank]) == list(range(schedule.chunk_count))
        assert not rows["reduce"][rows["dst"] == late_rank].any()


@pytest.mark.parametrize("name", TIMES)
def test_the_planner_leaves_about_a_broadcast_for_after_the_arrival(name: str) -> None:
    nbytes, late_rank, most_ms, before_ms = TIMES[name]
    network = NETWORKS[name]()
    plan = hm.plan(network, "all_reduce", nbytes, hm.Conditions(late={late_rank: 1.0}))
    assert plan.name in ("late_forest", "late_matched", "late_hosts")
    exposed_ms = (plan.seconds - 1.0) * 1e3
    # The late rank's part must leave it, and nothing else is as long.
    assert (plan.bound_s - 1.0) * 1e3 <= exposed_ms <= most_ms < before_ms


@pytest.mark.parametrize("ranks", [3, 4, 8, 16, 64])
def test_a_full_mesh_of_any_size_is_near_the_bound(ranks: int) -> None:
    # Derivation: 1/(n-1) of the buffer leaves the late rank through each link, and one of P pieces goes on after it.
    network, late = hm.topologies.fully_connected(ranks, **COST), {1: 1.0}
    pieces = {3: 256, 4: 256, 8: 256, 16: 256, 64: 16}[ranks]
    schedule = late_forest(network, 1, pieces=pieces)
    assert schedule.transfer_count == 2 * pieces * (ranks - 1) ** 2
    assert hm.verify(schedule, topology=network) == []
    seconds = hm.simulate(schedule, network, 1 << 28, hm.Conditions(late=late)).seconds - 1.0
    link_s = (1 << 28) / (ranks - 1) / 50e9
    assert link_s < seconds <= link_s * (1 + 1 / pieces) + 3e-6
    if ranks in (16, 64):
        plan = hm.plan(network, "all_reduce", 1 << 28, hm.Conditions(late=late))
        assert (plan.name, plan.seconds - 1.0) == ("late_forest", pytest.approx(seconds, rel=0.3))
        assert plan.schedule.transfer_count <= 150_000


#: The network, who is slow and by how much, times the bound after the arrival.
LATE_AND_SLOW = [("switch", {2: 1.5}, 1.01), ("switch", {5: 2.0}, 1.01), ("hosts", {2: 1.5}, 1.03)]


@pytest.mark.parametrize(("name", "slow", "most"), LATE_AND_SLOW)
def test_a_late_rank_and_a_slow_one_at_once_are_planned_near_the_bound(
    name: str, slow: dict[int, float], most: float
) -> None:
    # Given rank 5 late by a second, 256 MiB. Simulated and bound, ms after it has come: on a switch of 8 at 25 GB/s
    # 16.17 and 16.11 with rank 2 slow, 21.58 and 21.48 with rank 5 itself slow; on hosts 21.84 and 21.48.
    network = (
        LEVELS["hosts"]() if name == "hosts" else hm.topologies.switch(8, latency_s=1e-6, bandwidth=25e9)
    )
    plan = hm.plan(network, "all_reduce", 256 << 20, hm.Conditions(late={5: 1.0}, slow=slow))
    assert plan.name in (("late_forest", "late_matched") if name == "hosts" else ("all_reduce_late",))
    assert 1 <= (plan.seconds - 1.0) / (plan.bound_s - 1.0) <= most
    assert hm.verify(plan.schedule) == []


@pytest.mark.parametrize(("delay_s", "most_ms", "least_ms"), [(0.5e-3, 2.3, 2.0), (1e-3, 2.0, 1.57)])
def test_a_short_delay_hides_a_share_of_the_buffer(delay_s: float, most_ms: float, least_ms: float) -> None:
    # Given a torus on which all others need 1.82 ms to reduce 256 MiB around the late rank, a broadcast 1.35 ms and an
    # all-reduce 2.52. Derivation: a share of delay / 1.82 saves 1.17 ms for the whole, after the arrival.
    network = NETWORKS["torus"]()
    plan = hm.plan(network, "all_reduce", 256 << 20, hm.Conditions(late={5: delay_s}))
    assert plan.name == "late_forest"
    assert "of the buffer" in plan.alternatives[0].variant
    assert hm.verify(plan.schedule, topology=network) == []
    assert least_ms <= (plan.bound_s - delay_s) * 1e3 <= (plan.seconds - delay_s) * 1e3 <= most_ms


def test_who_is_reached_through_the_late_rank_alone_cannot_reduce_without_it() -> None:
    line = hm.topologies.mesh([5], **COST)
    with pytest.raises(ArgumentError, match="reach"):
        late_forest(line, 2)
    assert hm.verify(late_forest(line, 0, pieces=4), topology=line) == []
    assert hm.plan(line, "all_reduce", 1 << 20, hm.Conditions(late={2: 1.0})).name != "late_forest"


@pytest.mark.parametrize(
    ("ranks", "late_rank", "pieces", "message"),
    [(2, 0, 4, "at least 3 ranks"), (4, 4, 4, "0 … 3"), (4, -1, 4, "0 … 3"), (4, 0, 0, "pieces")],
)
def test_what_cannot_be_is_refused(ranks: int, late_rank: int, pieces: int, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        late_forest(hm.topologies.ring(ranks, **COST), late_rank, pieces=pieces)


@pytest.mark.parametrize("share", [0.0, 0.001, 1.5, float("nan")])
def test_a_share_that_cannot_be_is_refused(share: float) -> None:
    with pytest.raises(ArgumentError, match="share"):
        late_forest(hm.topologies.ring(4, **COST), 0, share=share)


def test_links_one_way_take_the_complete_chunk_round() -> None:
    ring = hm.Topology(
        5,
        [(rank, (rank + 1) % 5, 1e-6, 1e9) for rank in range(5)]
        + [(3, 0, 1e-6, 1e9), (0, 3, 1e-6, 1e9), (2, 1, 1e-6, 1e9), (1, 0, 1e-6, 1e9), (3, 2, 1e-6, 1e9)],
    )
    schedule = late_forest(ring, 4, pieces=4)
    assert hm.verify(schedule, topology=ring) == []
    assert set(np.unique(schedule.transfers["src"][schedule.transfers["dst"] == 4])) == {3}


def reduced_beside_late_ranks() -> tuple[str, bool]:
    comm = hm.init()
    x = np.arange(30_000, dtype=np.int64) * (comm.rank + 1)
    comm.all_reduce(x)
    return comm.plan("all_reduce", x.nbytes).name, bool((x == np.arange(30_000) * 15).all())


@pytest.mark.long
@pytest.mark.parametrize(
    ("network", "late", "name"),
    [
        (hm.topologies.torus([5], latency_s=1e-6, bandwidth=1e8), [4], "late_forest"),
        (hm.topologies.switch(5, latency_s=1e-6, bandwidth=1e8), [1, 3], "all_reduce_late_relayed"),
    ],
)
def test_communicators_run_it_where_late_ranks_are_named(
    network: hm.Topology, late: list[int], name: str
) -> None:
    conditions = hm.Conditions(late=dict.fromkeys(late, 0.03))
    found = hm.launch(reduced_beside_late_ranks, 5, emulate=network, conditions=conditions, timeout_s=60)
    assert found == [(name, True)] * 5
