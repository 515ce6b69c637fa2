# SPDX-License-Identifier: Apache-2.0
"""Bounds on nodes whose ranks share NICs: a card counts once, however many ranks use it."""

from __future__ import annotations

import pytest

import hemiola as hm

KINDS = ("all_gather", "reduce_scatter", "all_reduce")


def nodes_of(count: int, ranks: int, nics: int) -> hm.Topology:
    return hm.topologies.hosts(
        count, ranks, nics, latency_s=2e-6, bandwidth=100e9, nic_latency_s=5e-6, nic_bandwidth=25e9
    )


@pytest.mark.parametrize(
    ("hosts", "ranks", "nics"), [(2, 2, 1), (3, 2, 1), (4, 4, 1), (8, 8, 4), (3, 3, 2), (2, 2, 4)]
)
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_count_a_shared_nic_once(hosts: int, ranks: int, nics: int, kind: str) -> None:
    # Given ranks that share NICs. Derivation: a node is one rank that holds what its ranks do: (k-1)·m must leave all
    # k nodes together, twice that for an all-reduce, through their NICs: k·K·B.
    network, nbytes = nodes_of(hosts, ranks, nics), 1 << 26
    bound = hm.lower_bound(network, kind, nbytes)
    least_s = (2 if kind == "all_reduce" else 1) * (hosts - 1) * nbytes / (hosts * nics * 25e9)
    assert bound.seconds >= least_s * (1 - 1e-9)
    make = getattr(hm.algorithms, f"{kind}_hierarchical")
    for schedule in (make(hosts, ranks, 8), getattr(hm.algorithms, f"{kind}_ring")(hosts * ranks)):
        assert bound.seconds <= hm.simulate(schedule, network, nbytes).seconds
    if ranks % nics == 0 and nics < ranks:
        assert hm.simulate(make(hosts, ranks, 16), network, nbytes).seconds < 1.08 * bound.seconds


@pytest.mark.parametrize("nic_latency_s", [0.0, 0.5e-6, 1e-6, 3.9e-6])
def test_ranks_of_a_host_talk_inside_it_however_near_the_nics_switch_is(nic_latency_s: float) -> None:
    # Given a way over the NIC's switch with as many links as the one inside, and less latency. Then what stays in a
    # host loads no NIC: no schedule takes longer than where the NIC is far away.
    def network(nic_latency_s: float) -> hm.Topology:
        return hm.topologies.hosts(
            4, 4, latency_s=2e-6, bandwidth=80e9, nic_latency_s=nic_latency_s, nic_bandwidth=12.5e9
        )

    for kind in KINDS:
        schedule = getattr(hm.algorithms, f"{kind}_hierarchical")(4, 4, 16)
        far, near = (hm.simulate(schedule, network(s), 1 << 26).seconds for s in (5e-6, nic_latency_s))
        assert near <= far
    plan = hm.plan(network(nic_latency_s), "all_reduce", 1 << 26)
    assert hm.simulate(plan.schedule, network(nic_latency_s), 1 << 26).seconds == pytest.approx(
        plan.seconds, rel=0.02
    )
