# SPDX-License-Identifier: Apache-2.0
"""Groups of hosts behind tapered uplinks."""

import numpy as np
import pytest

import hemiola as hm
from hemiola import topologies
from hemiola.errors import ArgumentError

GB = 1e9
LATENCY_S = 4e-6


def groups(hosts, nodes_per_group, taper=1.0, **more):
    words = {"latency_s": 1e-6, "bandwidth": 100 * GB, "nic_latency_s": LATENCY_S, "nic_bandwidth": 25 * GB}
    return topologies.hosts(
        hosts, **{"ranks_per_host": 1, "nodes_per_group": nodes_per_group, "taper": taper, **words, **more}
    )


def costs(t):
    return {(src, dst): (latency_s, bandwidth) for src, dst, latency_s, bandwidth, _ in t.links.tolist()}


def test_a_groups_uplink_carries_what_its_cards_do_divided_by_the_taper():
    """Given 4 hosts of one rank in groups of 2, taper 4. Ranks 0-3, the groups' switches 4 and 5, the core 6.
    Expect uplinks of 2 * 25 / 4 GB/s."""
    t = groups(4, 2, 4.0)
    assert (t.rank_count, t.switch_count) == (4, 3)
    port, uplink = (LATENCY_S / 2, 25 * GB), (LATENCY_S / 2, 12.5 * GB)
    cards = {(0, 4): port, (1, 4): port, (2, 5): port, (3, 5): port}
    uplinks = {(4, 6): uplink, (5, 6): uplink}
    both_ways = {**cards, **uplinks}
    assert costs(t) == {**both_ways, **{(dst, src): cost for (src, dst), cost in both_ways.items()}}
    assert t.name == "hosts 4x1 in groups of 2, taper 4"


def test_from_group_to_group_takes_a_nics_latency_more():
    t = groups(4, 2)
    exchange = hm.Collective.custom(4, 1, [(0, 0)], [(1, 0), (2, 0)], reducing=False)
    s = hm.Schedule.from_transfers(exchange, [(0, 0, 1, 0, False), (1, 0, 2, 0, False)])
    near, far = (hm.simulate(s, t, 1).finish_s[rank] for rank in (1, 2))
    assert near == pytest.approx(LATENCY_S, rel=1e-4)
    assert far == pytest.approx(2 * LATENCY_S, rel=1e-4)


def test_the_last_group_may_be_smaller_and_shared_cards_count_once():
    """Given 3 hosts of 4 ranks and 2 NICs in groups of 2: uplinks of 4 and of 2 NICs."""
    t = groups(3, 2, 2.0, ranks_per_host=4, nics_per_host=2)
    core = t.rank_count + t.switch_count - 1
    assert [costs(t)[switch, core][1] / GB for switch in (core - 2, core - 1)] == [50, 25]


def test_rails_have_uplinks_of_their_own():
    """Given 4 hosts of 2 ranks with a NIC each on rails, groups of 2. Switches: inner 8-11, group by group and rail by
    rail 12-15, the two rails' cores 16 and 17."""
    t = groups(4, 2, 2.0, ranks_per_host=2, nics_per_host=2, rails=True)
    assert t.switch_count == 4 + 4 + 2
    links = costs(t)
    assert {ends for ends in links if min(ends) >= 12} == {
        (12, 16), (16, 12), (13, 17), (17, 13), (14, 16), (16, 14), (15, 17), (17, 15),
    }  # fmt: skip
    assert links[12, 16][1] == 25 * GB
    assert (0, 12) in links
    assert (7, 15) in links


def test_messages_cost_cards_and_not_uplinks():
    t = groups(4, 2, nic_message_s=1e-6)
    is_card = np.minimum(t.links["src"], t.links["dst"]) < t.rank_count
    assert (t.links["message_s"] == np.where(is_card, 1e-6, 0)).all()


def test_one_group_is_hosts_on_one_switch():
    plain, one = groups(4, None), groups(4, 4)
    assert (one.links == plain.links).all()
    assert one.nics == plain.nics


def test_a_cluster_has_groups_too():
    host = topologies.Host(1, latency_s=1e-6, bandwidth=GB, nic_latency_s=LATENCY_S, nic_bandwidth=25 * GB)
    t = topologies.cluster([host] * 4, nodes_per_group=2, taper=4.0)
    assert (t.links == groups(4, 2, 4.0).links).all()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"nodes_per_group": 0}, "nodes per group between 1"),
        ({"nodes_per_group": 2, "taper": 0.5}, "taper between 1"),
        ({"nodes_per_group": 2, "taper": float("nan")}, "taper between 1"),
        ({"nodes_per_group": None, "taper": 2.0}, "say nodes_per_group, too"),
    ],
)
def test_what_is_no_group_is_refused(words, message):
    with pytest.raises(ArgumentError, match=message):
        groups(4, **words)


def test_the_bound_sees_the_taper():
    """Given 8 hosts in groups of 4, taper 8: a group's uplink has half of a NIC's bandwidth. Derivation: half of an
    all-gather's 1 MB must enter each group, which takes the uplink as long as the whole would take a NIC: 40 us.
    Without the taper a NIC needs 7/8 of that."""
    assert hm.lower_bound(groups(8, 4, 8.0), "all_gather", 1_000_000).seconds >= 40e-6
    assert 35e-6 <= hm.lower_bound(groups(8, 4), "all_gather", 1_000_000).seconds < 40e-6
