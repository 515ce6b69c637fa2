# SPDX-License-Identifier: Apache-2.0
"""The theorems on slow ranks as lower bounds: their values, their regimes, and that no schedule beats them."""

import numpy as np
import pytest
from exact_optimum import one_port_all_reduce

import hemiola as hm

BANDWIDTH = 1e9
NBYTES = 1 << 30
UNIT_S = NBYTES / BANDWIDTH


def cluster(rank_count: int) -> hm.Topology:
    return hm.topologies.switch(rank_count, latency_s=0.0, bandwidth=BANDWIDTH)


def rails(hosts: int, per_host: int, factors: dict[int, float], inside: float) -> hm.Topology:
    """Every rank a NIC to its rail's switch and `inside` times that to its host's; hosts' NICs slower by `factors`."""
    ranks, links = hosts * per_host, []
    for rank in range(ranks):
        host, rail = divmod(rank, per_host)
        for vertex, bandwidth in (
            (ranks + host, BANDWIDTH * inside),
            (ranks + hosts + rail, BANDWIDTH / factors.get(host, 1.0)),
        ):
            links += [(rank, vertex, 0.0, bandwidth), (vertex, rank, 0.0, bandwidth)]
    nodes = [rank // per_host for rank in range(ranks)]
    return hm.Topology(ranks, links, switch_count=hosts + per_host, nodes=nodes)


def bound(
    topology: hm.Topology, slow: dict[int, float] | None = None, ports: str = "shared"
) -> hm.LowerBound:
    return hm.lower_bound(topology, "all_reduce", NBYTES, hm.Conditions(slow=slow or {}), ports=ports)


@pytest.mark.parametrize("rank_count", [3, 8, 64])
@pytest.mark.parametrize("factor", [8 / 7, 1.5, 2.0, 3.0])
def test_one_slow_rank_on_shared_ports_is_theorem_1(rank_count: int, factor: float) -> None:
    p, found = rank_count, bound(cluster(rank_count), {1: factor})
    traffic = 2 * (p - 1) / (p - 1 + 1 / factor)
    assert found.seconds == pytest.approx(max(traffic, factor) * UNIT_S, rel=1e-9)
    assert found.bounds[0].name == ("ports" if factor >= traffic else "traffic")
    assert "Theorem 1]" in found.witness


@pytest.mark.parametrize("rank_count", [3, 8, 64])
@pytest.mark.parametrize("factor", [8 / 7, 1.5, 2.0, 3.0])
def test_one_slow_rank_and_one_message_a_port_is_theorem_6(rank_count: int, factor: float) -> None:
    p, found = rank_count, bound(cluster(rank_count), {1: factor}, "one")
    expected = factor if factor >= 2 else 2 * (p - 1) * factor / ((p - 2) * factor + 2)
    assert found.seconds == pytest.approx(expected * UNIT_S, rel=1e-9)
    if factor < 2:
        assert found.bounds[0].name == "one_port"
        assert "Theorem 6]" in found.witness


def test_several_slow_ranks_on_shared_ports_are_theorem_2() -> None:
    # Given p = 8: l = 3/2 twice, 14 / (6 + 4/3) = 21/11; l = 3 and 3/2, where the slowest port decides.
    found = bound(cluster(8), {0: 1.5, 1: 1.5})
    assert found.seconds == pytest.approx(21 / 11 * UNIT_S, rel=1e-9)
    assert "Theorem 2]" in found.witness
    assert bound(cluster(8), {0: 3.0, 1: 1.5}).seconds == pytest.approx(3 * UNIT_S, rel=1e-9)


def test_several_slow_ranks_and_one_message_a_port() -> None:
    # Given p = 8, l = 3/2 twice, and a price of 1/8 for every port. A tree has 7 edges, of which two at least touch a
    # slow rank: it costs (5 + 2·3/2)·2/8 = 2, and all ports earn 1 in a unit of time.
    found = bound(cluster(8), {0: 1.5, 1: 1.5}, "one")
    assert found.seconds == pytest.approx(2 * UNIT_S, rel=1e-8)
    assert "some prices of their ports" in found.witness


@pytest.mark.parametrize(
    ("rank_count", "factors"),
    [
        (3, (2.0, 1.5)),
        (4, (2.0, 2.0)),
        (4, (4 / 3, 8 / 7)),
        (5, (2.0, 1.5, 1.2)),
        (5, (1.5, 1.5)),
        (6, (2.0, 4 / 3)),
        (8, (1.5, 1.5)),
        (8, (2.0, 2.0, 2.0)),
        (8, (3.0, 1.5)),
        (8, (1.1, 1.2, 1.3, 1.4, 1.5)),
        (16, (2.0, 4 / 3)),
    ],
    ids=str,
)
def test_one_message_a_port_is_bound_by_what_the_best_trees_take(
    rank_count: int, factors: tuple[float, ...]
) -> None:
    exact = one_port_all_reduce(np.array([*factors, *[1.0] * (rank_count - len(factors))]))
    found = bound(cluster(rank_count), dict(enumerate(factors)), "one")
    assert found.seconds == pytest.approx(exact * UNIT_S, rel=1e-6)
    assert found.seconds <= exact * UNIT_S * (1 + 1e-9)


def test_of_many_different_factors_the_bound_takes_some_for_faster() -> None:
    factors = [1 + i / 31 for i in range(32)]
    exact = one_port_all_reduce(np.array(factors))
    found = bound(cluster(32), dict(enumerate(factors)), "one")
    assert 0.95 * exact * UNIT_S <= found.seconds <= exact * UNIT_S * (1 + 1e-9)


@pytest.mark.parametrize(("factor", "expected"), [(1.5, 18 / 11), (3.0, 3.0)])
def test_hosts_of_several_ranks_are_theorem_3(factor: float, expected: float) -> None:
    # Given 4 hosts of 2 ranks whose links inside are fast: 2·3/(3 + 1/l) = 18/11 for l = 3/2, over g = 2; l for l = 3.
    found = bound(rails(4, 2, {0: factor}, inside=100))
    # A cut counts whole bytes per second.
    assert found.seconds == pytest.approx(expected / 2 * UNIT_S, rel=1e-8)
    named = next(b for b in found.bounds if b.name == ("hosts" if factor == 1.5 else "cut"))
    assert named.seconds == pytest.approx(found.seconds, rel=1e-8)


@pytest.mark.parametrize(("factor", "expected"), [(4 / 3, 12 / 7), (1.5, 1.8), (2.0, 2.0), (3.0, 3.0)])
def test_hosts_and_one_message_a_port_are_theorem_13(factor: float, expected: float) -> None:
    # Given q = 4: 2·3·l/(2l + 2), that is 8/(14/3) = 12/7 for l = 4/3 and 9/5 for l = 3/2.
    found = bound(rails(4, 2, {0: factor}, inside=100), ports="one")
    assert found.seconds == pytest.approx(expected / 2 * UNIT_S, rel=1e-9)
    if factor < 2:
        assert "Theorem 13]" in found.witness


@pytest.mark.parametrize(("factor", "theorem_13"), [(4 / 3, 3 / 7), (1.0, 3 / 8)])
def test_all_traffic_corrects_theorem_13_where_links_inside_are_no_faster_than_the_paper_has_them(
    factor: float, theorem_13: float
) -> None:
    # Given 4 hosts of 4 ranks and links inside 3 times a NIC: 2·15 <= T·(16·3 + 4·(2 + 2/l)), over N·β:
    # 30/(48 + 14) = 0.4839 for l = 4/3, and 30/64 = 0.469 = 2(p-1)/(p·g) for l = 1.
    found = bound(rails(4, 4, {0: factor} if factor > 1 else {}, inside=3), ports="one")
    assert found.seconds == pytest.approx(30 / (48 + 4 * (2 + 2 / factor)) * UNIT_S, rel=1e-9)
    assert found.seconds > theorem_13 * UNIT_S
    if factor > 1:
        assert "corrects OptCC, Theorem 13]" in found.witness


@pytest.mark.parametrize("ports", ["shared", "one"])
@pytest.mark.parametrize("rank_count", [3, 4, 8])
def test_a_further_slow_rank_never_lowers_the_bound(rank_count: int, ports: str) -> None:
    # Given that who is hardly slow may be counted as healthy: of 4/3 and 1 + 1e-9, Theorem 6 for 4/3 alone.
    for factor in (1.25, 4 / 3, 1.5, 3.0):
        alone = bound(cluster(rank_count), {0: factor}, ports)
        for further in (1 + 1e-12, 1 + 1e-9, 1.0001, 1.1, 1.25, 2.0):
            both = bound(cluster(rank_count), {0: factor, 1: further}, ports)
            assert both.seconds >= alone.seconds * (1 - 1e-11)
            if ports == "one" and factor < 2 and further < 1.001:
                assert both.seconds == pytest.approx(alone.seconds, rel=1e-3)


@pytest.mark.parametrize("rank_count", [3, 4, 8, 16])
@pytest.mark.parametrize("slow", [{}, {0: 1.25}, {0: 2.0}, {0: 3.0}, {0: 1.5, 1: 1.5}, {0: 3.0, 1: 1.25}])
def test_no_schedule_that_keeps_to_one_message_a_port_beats_the_one_port_bound(
    rank_count: int, slow: dict[int, float]
) -> None:
    least = bound(cluster(rank_count), slow, "one").seconds
    ring = hm.algorithms.all_reduce_ring(rank_count)
    open_shop = hm.algorithms.all_reduce_open_shop_exchange(rank_count, slow, 8)
    exchange = hm.algorithms.all_reduce_weighted_exchange(rank_count, slow, 8)
    relayed = hm.algorithms.all_reduce_relayed_exchange(rank_count, slow, 8)
    for schedule in (ring, open_shop, exchange, relayed):
        time = hm.simulate(schedule, cluster(rank_count), NBYTES, hm.Conditions(slow=slow)).seconds
        assert time >= least * (1 - 1e-6)


def test_the_weighted_exchange_meets_the_one_port_bound_as_segments_grow() -> None:
    # Given l = 4/3: its time is the bound times (k + l - 1)/k.
    slow, k = {0: 4 / 3}, 64
    exchange = hm.algorithms.all_reduce_weighted_exchange(8, slow, k)
    time = hm.simulate(exchange, cluster(8), NBYTES, hm.Conditions(slow=slow)).seconds
    assert time == pytest.approx(bound(cluster(8), slow, "one").seconds * (k + 1 / 3) / k, rel=1e-5)


def test_one_message_a_port_changes_nothing_for_other_collectives_or_ranks_with_several_ports() -> None:
    slow = hm.Conditions(slow={0: 1.5})
    for topology, kind in (
        (cluster(4), "broadcast"),
        (hm.topologies.torus([4, 4], latency_s=0.0, bandwidth=1e9), "all_reduce"),
    ):
        shared = hm.lower_bound(topology, kind, NBYTES, slow)
        assert hm.lower_bound(topology, kind, NBYTES, slow, ports="one").seconds == shared.seconds


def test_rejects_unknown_uses_of_ports() -> None:
    with pytest.raises(hm.errors.ArgumentError, match="'shared' or 'one'"):
        hm.lower_bound(cluster(4), "all_reduce", NBYTES, ports="two")


def test_switches_that_are_linked_across_hosts_lie_between_them() -> None:
    # Given 2 hosts of 2 ranks, each rank on a switch (4, 5) by 9 GB/s, the switches linked; ranks 0 and 2 are linked by
    # 3 GB/s. All of these lie between hosts: 2·N over (4·9 + 2·3) GB/s.
    links = [(r, 4 + r // 2, 0.0, 9e9) for r in range(4)] + [(4 + r // 2, r, 0.0, 9e9) for r in range(4)]
    links += [(4, 5, 0.0, 1e9), (5, 4, 0.0, 1e9), (0, 2, 0.0, 3e9), (2, 0, 0.0, 3e9)]
    boxes = hm.Topology(4, links, switch_count=2, nodes=[0, 0, 1, 1])
    found = {b.name: b.seconds for b in hm.lower_bound(boxes, "all_reduce", NBYTES).bounds}
    assert found["hosts"] == pytest.approx(2 * NBYTES / 42e9, rel=1e-9)
