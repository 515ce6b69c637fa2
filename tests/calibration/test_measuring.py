# SPDX-License-Identifier: Apache-2.0
"""Ranks measure networks that are known: emulated ones, and this machine."""

from __future__ import annotations

import calibrating_ranks as work
import pytest

import hemiola as hm
from undisturbed import confirmed

LIMIT_S = 240.0


def users(topology: hm.Topology) -> list[list[int]]:
    """Return the ranks of each NIC."""
    return [
        sorted({int(rank) for rank in topology.links["src"][links] if rank < topology.rank_count})
        for _, _, links in topology.nics
    ]


@pytest.mark.parametrize(
    ("nics", "expected"), [(1, [[0, 1], [2, 3]]), (2, [[0], [1], [2], [3]])], ids=["shared", "own"]
)
def test_an_emulated_network_is_found_as_it_is(nics: int, expected: list[list[int]]) -> None:
    network = hm.topologies.hosts(
        2, 2, nics, latency_s=1e-5, bandwidth=100e6, nic_latency_s=1e-3, nic_bandwidth=5e6
    )

    def measured() -> hm.Topology:
        (topology, total), *others = hm.launch(work.measured, 4, emulate=network, timeout_s=LIMIT_S)
        assert all(other == topology for other, _ in others)
        assert total == 6.0
        assert topology.nodes.tolist() == [0, 0, 1, 1]
        # Ranks are never faster than the network that they behave like; how much slower, the machine's load decides.
        assert max(topology.links["bandwidth"][links[0]] for _, _, links in topology.nics) < 1.05 * 5e6
        return topology

    # A machine whose cores are busy may make a rank that is alone look slow.
    topology = confirmed(measured, lambda found: users(found) == expected)
    assert users(topology) == expected
    # A message takes a millisecond, and more where cores are busy, which may look like messages that cost much.
    assert hm.simulate(hm.algorithms.all_gather_ring(4), topology, 4).seconds > 3 * 0.4e-3


def test_ranks_of_one_host_are_on_a_switch() -> None:
    (topology, total), *others = hm.launch(work.measured, 3, timeout_s=LIMIT_S)
    assert total == 3.0
    assert all(other == topology for other, _ in others)
    assert (topology.rank_count, topology.switch_count, topology.node_count, topology.nics) == (3, 1, 1, [])
    assert (topology.links["bandwidth"] > 0).all()


def test_a_lone_rank_has_no_links() -> None:
    ((topology, _),) = hm.launch(work.measured, 1, timeout_s=LIMIT_S)
    assert (topology.rank_count, topology.link_count) == (1, 0)
