# SPDX-License-Identifier: Apache-2.0
"""Where every two ranks are a hop apart: shares that go through all ranks, and parts that hide a latency."""

from __future__ import annotations

import pytest

import hemiola as hm
from hemiola.errors import ArgumentError
from hemiola.synthesis.full_mesh import broadcast_through_all, reduce_through_all
from hemiola.verify import first_violation

LINK = {"latency_s": 1e-6, "bandwidth": 50e9}


@pytest.mark.parametrize(("ranks", "root", "pieces"), [(3, 0, 1), (5, 2, 4), (16, 15, 3)])
def test_a_broadcast_through_all_is_right_and_takes_what_it_says(ranks: int, root: int, pieces: int) -> None:
    nbytes = 240_000 * (ranks - 1)
    network = hm.topologies.fully_connected(ranks, **LINK)
    schedule = broadcast_through_all(ranks, root, pieces)
    assert hm.verify(schedule) == []
    assert reduce_through_all(ranks, root, pieces) == schedule.reverse()
    assert hm.verify(schedule.reverse()) == []
    expected_s = 2e-6 + (pieces + 1) / pieces * 240_000 / 50e9
    assert hm.simulate(schedule, network, nbytes).seconds == pytest.approx(expected_s, rel=1e-6)
    assert hm.simulate(schedule.reverse(), network, nbytes).seconds == pytest.approx(expected_s, rel=1e-6)


@pytest.mark.parametrize("kind", ["broadcast", "reduce"])
@pytest.mark.parametrize(
    ("ranks", "nbytes", "most_of_bound"),
    [(32, 256 << 20, 1.03), (128, 4_338_219, 1.65), (400, 256 << 20, 1.31)],
)
def test_plans_use_all_links_of_a_large_full_mesh(
    kind: str, ranks: int, nbytes: int, most_of_bound: float
) -> None:
    plan = hm.plan(hm.topologies.fully_connected(ranks, **LINK), kind, nbytes, root=1)
    assert plan.bound_s <= plan.seconds <= most_of_bound * plan.bound_s
    assert hm.simulate(plan.schedule, hm.topologies.fully_connected(ranks, **LINK), nbytes).seconds == (
        pytest.approx(plan.seconds, rel=1e-3)
    )


def test_slow_and_late_ranks_are_simulated() -> None:
    network = hm.topologies.fully_connected(24, **LINK)
    for conditions in (
        hm.Conditions(slow={3: 2.0}),
        hm.Conditions(late={1: 1e-3}),
        hm.Conditions(late={5: 1e-3}),
    ):
        plan = hm.plan(network, "broadcast", 64 << 20, conditions, root=1)
        found = hm.simulate(plan.schedule, network, 64 << 20, conditions)
        assert plan.seconds == pytest.approx(found.seconds, rel=1e-3)
        assert plan.seconds <= 2.05 * plan.bound_s


@pytest.mark.parametrize(("ranks", "pieces", "lag"), [(2, 3, 2), (3, 4, 2), (7, 5, 3), (5, 1, 3)])
def test_a_reduction_through_all_is_the_broadcast_turned_round(ranks: int, pieces: int, lag: int) -> None:
    for root in range(ranks):
        broadcast = broadcast_through_all(ranks, root, pieces, lag)
        assert broadcast.transfer_count == pieces * (ranks - 1) ** 2
        assert hm.verify(broadcast) == []
        assert reduce_through_all(ranks, root, pieces, lag) == broadcast.reverse()


@pytest.mark.parametrize(
    ("ranks", "root", "pieces", "lag"),
    [(1, 0, 1, 1), (3, 3, 1, 1), (3, -1, 1, 1), (3, 0, 0, 1), (3, 0, 1, 0)],
)
def test_ranks_roots_pieces_and_lags_that_cannot_be_are_rejected(
    ranks: int, root: int, pieces: int, lag: int
) -> None:
    for make in (broadcast_through_all, reduce_through_all):
        with pytest.raises(ArgumentError, match=f"{make.__name__}: expected"):
            make(ranks, root, pieces, lag)


@pytest.mark.parametrize("kind", ["broadcast", "reduce"])
def test_small_buffers_go_through_all_of_2048_ranks_behind_a_switch(kind: str) -> None:
    # Given 4 KiB, 2.5 us and 25 GB/s: two latencies and twice 0.16 us, where a tree pays eleven latencies.
    plan = hm.plan(hm.topologies.switch(2048, latency_s=2.5e-6, bandwidth=25e9), kind, 4096)
    assert plan.alternatives[0].label == "through_all (1 pieces)"
    assert plan.seconds == pytest.approx(5.33e-6, rel=0.01)
    assert plan.schedule.transfer_count == 2047**2


def test_trees_are_kept_where_more_pieces_promise_little() -> None:
    # 1 GiB on 300 ranks: 64 pieces, 5.7 million transfers, would take as long as a tree in 371 chunks. 16 MiB on 1,024
    # with a slow rank: 8 pieces take 1.25 times the bound, trees by simulation 1.07, by their formula 1.27.
    for ranks, nbytes, slow in ((300, 1 << 30, {}), (1024, 16 << 20, {5: 2.0})):
        network = hm.topologies.switch(ranks, latency_s=2.5e-6, bandwidth=25e9)
        plan = hm.plan(network, "broadcast", nbytes, hm.Conditions(slow=slow))
        assert plan.name == "broadcast_circulant"
        assert plan.seconds <= 1.07 * plan.bound_s


@pytest.mark.parametrize(("bandwidth", "lag", "first_s"), [(200e9, 4, 2.225e-6), (9e9, 2, 10e-6)])
def test_shares_through_a_switch_wait_for_two_latencies_at_most(
    bandwidth: float, lag: int, first_s: float
) -> None:
    # Given 2 us between two ranks, and 0.225 or 5 us for a quarter of the buffer. Derivation: the first is handed on
    # when it has come, or after the `lag` that a port takes in one after the other; 4 are, and the last one arrives.
    network = hm.topologies.switch(19, latency_s=2e-6, bandwidth=bandwidth)
    schedule = broadcast_through_all(19, 3, 4, lag)
    assert hm.verify(schedule) == []
    most_s = first_s + 180_000 / bandwidth + 2e-6
    for one in (schedule, schedule.reverse()):
        assert 0.95 * most_s <= hm.simulate(one, network, 180_000).seconds <= most_s * (1 + 1e-6)


@pytest.mark.parametrize("kind", ["broadcast", "reduce"])
@pytest.mark.parametrize(
    ("ranks", "nbytes", "most"), [(19, 5_964, 1.93), (64, 200_000, 1.3), (300, 4096, 2.0)]
)
def test_one_root_behind_a_switch_pays_two_latencies(kind: str, ranks: int, nbytes: int, most: float) -> None:
    plan = hm.plan(hm.topologies.switch(ranks, latency_s=5e-6, bandwidth=12.5e9), kind, nbytes, root=1)
    assert plan.name == "through_all"
    assert plan.bound_s <= plan.seconds <= most * plan.bound_s
    assert first_violation(plan.schedule) is None


@pytest.mark.parametrize(
    ("network", "nbytes", "late_s", "most"),
    [
        (hm.topologies.switch(4, latency_s=1e-5, bandwidth=1e9), 65_536, 0.0, 1.001),
        (hm.topologies.switch(41, latency_s=5e-6, bandwidth=50e9), 597_009, 15.9e-6, 1.35),
        (hm.topologies.fully_connected(4, **LINK), 1_310_720, 0.0, 1.08),
        (hm.topologies.ring(3, **LINK), 80_000, 0.0, 1.25),
    ],
    ids=["switch", "late", "full mesh", "triangle"],
)
def test_parts_hide_the_second_latency_of_a_direct_all_reduce(
    network: hm.Topology, nbytes: int, late_s: float, most: float
) -> None:
    plan = hm.plan(network, "all_reduce", nbytes, hm.Conditions(late={2: late_s}))
    assert plan.name == "all_reduce_blueconnect"
    assert plan.bound_s <= plan.seconds <= most * plan.bound_s
    assert first_violation(plan.schedule) is None
    direct = next(other for other in plan.alternatives if other.name == "all_reduce_direct")
    assert plan.seconds < 0.98 * direct.seconds


def test_more_messages_are_sent_only_where_it_is_known_what_they_cost() -> None:
    network = hm.topologies.switch(4, latency_s=1e-5, bandwidth=1e9)
    for kind in ("all_reduce", "broadcast"):
        assert hm.plan(network, kind, 65_536).name in ("all_reduce_blueconnect", "through_all")
        cores = hm.plan(network, kind, 65_536, combine_bandwidth=5e9)
        assert cores.name in hm.algorithms.names(kind)


def test_trees_from_one_root_are_left_out_where_packing_them_takes_long() -> None:
    network = hm.topologies.fully_connected(96, **LINK)
    plan = hm.plan(network, "broadcast", 64 << 20, hm.Conditions(slow={0: 2.0}))
    left = [one.reason for one in plan.left_out if one.label.startswith("forest")]
    assert left
    assert any("operations" in reason for reason in left)
    assert plan.seconds <= 1.05 * plan.bound_s
