# SPDX-License-Identifier: Apache-2.0
"""By which port each rank reaches other hosts, and what that carries."""

from __future__ import annotations

import pytest

import hemiola as hm
from hemiola.topology.host_ports import ports_between_hosts, speed_between_hosts

COST = {"latency_s": 1e-6, "bandwidth": 2e9, "nic_latency_s": 5e-5, "nic_bandwidth": 25e6}


def test_ranks_of_a_host_share_its_nic() -> None:
    ports = ports_between_hosts(hm.topologies.hosts(3, 2, 1, **COST))
    assert ports is not None
    assert list(ports.sharing) == [0, 0, 2, 2, 4, 4]
    assert list(ports.bandwidths) == [25e6] * 6
    assert list(ports.nics) == [f"nic:{host}/nic0" for host in (0, 0, 1, 1, 2, 2)]


def test_two_nics_of_a_host_are_two_ports() -> None:
    ports = ports_between_hosts(hm.topologies.hosts(2, 4, 2, **COST))
    assert ports is not None
    assert list(ports.sharing) == [0, 0, 2, 2, 4, 4, 6, 6]
    assert ports.nics[2] == "nic:0/nic1"


def test_with_a_nic_each_ranks_share_none() -> None:
    ports = ports_between_hosts(hm.topologies.hosts(2, 2, 2, **COST))
    assert ports is not None
    assert list(ports.sharing) == [0, 1, 2, 3]
    assert list(ports.bandwidths) == [25e6] * 4


def test_a_rank_with_a_host_to_itself_has_all_that_leaves_it() -> None:
    ports = ports_between_hosts(hm.topologies.switch(3, latency_s=1e-6, bandwidth=1e9))
    assert ports is not None
    assert list(ports.sharing) == [0, 1, 2]
    assert list(ports.bandwidths) == [1e9] * 3
    assert not ports.nics


def test_nothing_is_said_of_ranks_with_several_nics_or_none() -> None:
    assert ports_between_hosts(hm.topologies.hosts(2, 2, 4, **COST)) is None
    unnamed = hm.Topology(
        4, [(a, b, 1e-6, 1e9) for a in range(4) for b in range(4) if a != b], nodes=[0, 0, 1, 1]
    )
    assert ports_between_hosts(unnamed) is None


@pytest.mark.parametrize(("nics", "together"), [(1, 25e6), (2, 50e6), (4, 100e6)])
def test_what_a_hosts_ranks_have_together_is_the_sum_of_its_nics(nics: int, together: float) -> None:
    speed = speed_between_hosts(hm.topologies.hosts(3, 4, nics, **COST, nic_message_s=1e-5))
    assert speed is not None
    assert speed.bandwidth == together
    # From NIC to NIC, and each of the four ranks' messages occupies one.
    assert 5e-5 + 3e-5 <= speed.latency_s <= 5e-5 + 5e-5


def test_hosts_of_different_ranks_have_no_one_speed() -> None:
    assert speed_between_hosts(hm.topologies.hosts(3, 2, 1, **COST).without_ranks([5])) is None
