# SPDX-License-Identifier: Apache-2.0
"""Hosts of several ranks whose NICs are slow: how the planner sees them, and what it takes for them."""

import pytest

import hemiola as hm
from hemiola._core.algorithms import slow_hosts

NIC = 1e9
HOSTS, PER_HOST = 4, 2
MIB = 1 << 20


def rails(hosts: int = HOSTS, per_host: int = PER_HOST) -> hm.Topology:
    """Every rank has a NIC to its rail's switch, and twice that to its host's."""
    ranks, links = hosts * per_host, []
    for rank in range(ranks):
        host, rail = divmod(rank, per_host)
        for vertex, speed in ((ranks + host, 2 * NIC), (ranks + hosts + rail, NIC)):
            links += [(rank, vertex, 1e-6, speed), (vertex, rank, 1e-6, speed)]
    nodes = [rank // per_host for rank in range(ranks)]
    return hm.Topology(ranks, links, switch_count=hosts + per_host, nodes=nodes)


def test_a_hosts_bandwidth_is_that_of_its_links_to_others() -> None:
    assert rails().host_bandwidths() == [PER_HOST * NIC] * HOSTS
    assert rails().with_slow_hosts({1: 2.0}).host_bandwidths() == [2 * NIC, NIC, 2 * NIC, 2 * NIC]


@pytest.mark.parametrize("rails", [False, True])
@pytest.mark.parametrize(
    ("ranks", "nics", "expected"),
    # Of four ranks and three NICs two share one, and the others wait for these: 4 * 1/2.
    [(1, 1, 1), (1, 2, 2), (2, 1, 1), (4, 1, 1), (4, 2, 2), (4, 4, 4), (4, 8, 8), (6, 3, 3), (4, 3, 2)],
)
def test_a_host_has_the_bandwidth_of_its_nics_however_many_ranks_share_them(
    ranks: int, nics: int, expected: int, rails: bool
) -> None:
    hosts = hm.topologies.hosts(
        3, ranks, nics, latency_s=1e-6, bandwidth=20 * NIC, nic_latency_s=1e-6, nic_bandwidth=NIC, rails=rails
    )
    assert hosts.host_bandwidths() == pytest.approx([expected * NIC] * 3)
    slow = dict.fromkeys(range(ranks, 2 * ranks), 2.0)
    assert hosts.host_bandwidths(slow)[1] == pytest.approx(expected * NIC / 2)
    if ranks > 1:
        assert slow_hosts(hosts, slow) == ({1: pytest.approx(2.0)}, ranks)


def test_a_switch_that_carries_less_than_its_hosts_nics_is_what_leaves_the_host() -> None:
    hosts = hm.topologies.hosts(
        4,
        2,
        2,
        latency_s=1e-6,
        bandwidth=20 * NIC,
        nic_latency_s=1e-6,
        nic_bandwidth=NIC,
        nodes_per_group=1,
        taper=2.0,
    )
    assert hosts.host_bandwidths() == pytest.approx([NIC] * 4)


def test_the_weakest_rank_counts_for_its_host() -> None:
    # Given rank 2, the first of host 1, at a quarter: its rail waits for it, whatever rank 3's can do.
    assert rails().host_bandwidths({2: 4.0}) == [2 * NIC, NIC / 2, 2 * NIC, 2 * NIC]


def test_a_host_of_which_one_rank_has_a_nic_counts_with_that() -> None:
    links = [(0, 1, 0.0, 9 * NIC), (2, 3, 0.0, 9 * NIC), (0, 2, 0.0, NIC), (2, 0, 0.0, 2 * NIC)]
    links += [(1, 0, 0.0, 9 * NIC), (3, 2, 0.0, 9 * NIC)]
    pair = hm.Topology(4, links, nodes=[0, 0, 1, 1])
    assert pair.host_bandwidths() == [NIC, 2 * NIC]
    assert slow_hosts(pair, {}) == ({0: 2.0}, 2)


@pytest.mark.parametrize("rank", [-1, 8])
def test_a_slow_rank_that_does_not_exist_is_refused(rank: int) -> None:
    with pytest.raises(hm.errors.ArgumentError, match="rank"):
        rails().host_bandwidths({rank: 2.0})


def test_slow_hosts_are_told_from_links_and_from_conditions() -> None:
    assert slow_hosts(rails(), {}) == ({}, PER_HOST)
    assert slow_hosts(rails().with_slow_hosts({0: 1.5, 3: 3.0}), {}) == ({0: 1.5, 3: 3.0}, PER_HOST)
    assert slow_hosts(rails(), {2: 2.0, 3: 2.0}) == ({1: 2.0}, PER_HOST)
    assert slow_hosts(rails(), dict.fromkeys(range(8), 2.0)) == ({}, PER_HOST)  # every host slow: nobody is


def test_ranks_that_are_not_numbered_host_by_host_are_left_alone() -> None:
    cluster = rails()
    mixed = hm.Topology(8, cluster.links, switch_count=HOSTS + PER_HOST, nodes=[0, 1, 2, 3, 0, 1, 2, 3])
    assert slow_hosts(mixed.with_slow_hosts({0: 2.0}), {})[0] == {}


@pytest.mark.parametrize("slow", [{1: 2.0}, {0: 3.0, 2: 1.5}], ids=str)
def test_the_planner_exchanges_on_rails_where_hosts_are_slow(slow: dict[int, float]) -> None:
    cluster = rails().with_slow_hosts(slow)
    plan = hm.plan(cluster, "all_reduce", 256 * MIB)
    exchange = "all_reduce_rail_exchange" if len(slow) == 1 else "all_reduce_rail_open_shop_exchange"
    assert plan.name == exchange
    assert hm.verify(plan.schedule) == []
    assert plan.seconds <= 1.15 * plan.bound_s
    others = [
        other for other in plan.alternatives if other.name != plan.name and other.simulated_s is not None
    ]
    assert others, "nothing to compare with"


def test_nothing_is_exchanged_on_rails_where_no_host_is_slow() -> None:
    assert "all_reduce_rail_exchange" not in {
        other.name for other in hm.plan(rails(), "all_reduce", 16 * MIB).alternatives
    }


def test_a_plan_that_is_predicted_makes_no_schedule_until_asked() -> None:
    cluster = hm.topologies.switch(1024, latency_s=5e-6, bandwidth=25e9)
    plan = hm.plan(cluster, "all_reduce", 8 << 30, hm.Conditions(slow={0: 2.0}))
    assert plan.name == "all_reduce_weighted_exchange"
    assert plan.alternatives[0].is_predicted
    assert plan.parts is not None
    assert plan.parts.rank_count == plan.rank_count == 1024
    assert "schedule" not in vars(plan)
