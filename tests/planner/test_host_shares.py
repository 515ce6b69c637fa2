# SPDX-License-Identifier: Apache-2.0
"""Broadcasts between hosts: a slice for each rank of a host, and of that a share for each other host."""

from __future__ import annotations

import pytest

import hemiola as hm
from hemiola.errors import ArgumentError
from hemiola.planner import through_hosts
from hemiola.synthesis.host_shares import broadcast_through_hosts, reduce_through_hosts

HOSTS = {"latency_s": 1e-6, "bandwidth": 300e9, "nic_latency_s": 5e-6, "nic_bandwidth": 25e9}


@pytest.mark.parametrize(
    ("hosts", "per_host", "root", "pieces"),
    [(2, 2, 0, 1), (3, 2, 3, 1), (4, 3, 5, 2), (4, 3, 4, 2), (5, 4, 19, 3), (6, 1, 2, 2), (2, 1, 1, 2)],
)
def test_a_broadcast_through_hosts_is_right_both_ways(
    hosts: int, per_host: int, root: int, pieces: int
) -> None:
    schedule = broadcast_through_hosts(hosts, per_host, root, pieces)
    assert hm.verify(schedule) == []
    assert reduce_through_hosts(hosts, per_host, root, pieces) == schedule.reverse()
    assert hm.verify(schedule.reverse()) == []
    assert schedule.transfer_count == pieces * (hosts - 1) * per_host * (hosts * per_host - 1)


def test_it_takes_two_latencies_between_hosts_and_two_within() -> None:
    # Given 16 hosts of 4, next to no bytes: 1 us to the ranks of the root's host and from each rank to those of its
    # own, 5 us to each other host and from there to all.
    network = hm.topologies.hosts(16, 4, 4, **HOSTS)
    assert hm.simulate(broadcast_through_hosts(16, 4, 3), network, 240).seconds == pytest.approx(
        12e-6, rel=0.01
    )


def test_large_hosts_are_planned_with_as_many_pieces_as_may_be_made() -> None:
    # 832 ranks behind one switch: searching for 64 chunks took 8 CPU s, and 1.9 times as long as this by simulation.
    network = hm.topologies.dgx_a100(104, rails=False)
    plan = hm.plan(network, "broadcast", 3_318_991, root=444)
    assert plan.alternatives[0].label == "through_hosts (8 pieces)"
    assert plan.seconds <= 43e-6
    assert any(one.label.startswith("synthesized (64 chunks") for one in plan.left_out)


def test_few_chunks_are_not_searched_for_beside_large_shares() -> None:
    # 256 ranks on hosts with a NIC: 4 chunks of 300 kB take 85 us, shares 41.
    network = hm.topologies.hosts(32, 8, 1, **HOSTS)
    labels = [
        {one.label for one in hm.plan(network, "broadcast", nbytes, root=3).alternatives}
        for nbytes in (128 << 10, 300_000)
    ]
    assert ["synthesized (4 chunks)" in among for among in labels] == [True, False]
    assert "synthesized (16 chunks)" in labels[1]


def test_what_is_estimated_and_wins_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def count(hosts: int, per_host: int, root: int, pieces: int) -> hm.Schedule:
        made.append(pieces)
        return broadcast_through_hosts(hosts, per_host, root, pieces)

    monkeypatch.setattr(through_hosts, "broadcast_through_hosts", count)
    plan = hm.plan(hm.topologies.dgx_a100(32), "broadcast", 3_318_991, root=44)
    assert plan.alternatives[0].label == "through_hosts (16 pieces)"
    assert plan.alternatives[0].estimated_s == plan.seconds
    assert plan.schedule.transfer_count == plan.alternatives[0].transfer_count
    assert made.count(16) == 1


@pytest.mark.parametrize(
    ("hosts", "per_host", "root", "pieces"),
    [(1, 4, 0, 1), (2, 0, 0, 1), (2, 2, 4, 1), (2, 2, -1, 1), (2, 2, 0, 0)],
)
def test_hosts_roots_and_pieces_that_cannot_be_are_rejected(
    hosts: int, per_host: int, root: int, pieces: int
) -> None:
    for make in (broadcast_through_hosts, reduce_through_hosts):
        with pytest.raises(ArgumentError, match=f"{make.__name__}: expected"):
            make(hosts, per_host, root, pieces)


def test_a_reduction_goes_the_same_way_back() -> None:
    network = hm.topologies.hosts(8, 4, 4, **HOSTS)
    broadcast, reduce = (
        [one for one in hm.plan(network, kind, 256 << 10, root=3).alternatives if one.name == "through_hosts"]
        for kind in ("broadcast", "reduce")
    )
    assert {one.variant for one in broadcast} == {"1 pieces", "4 pieces", "8 pieces", "16 pieces"}
    assert [one.variant for one in reduce] == [one.variant for one in broadcast]
    assert reduce[0].seconds == pytest.approx(broadcast[0].seconds, rel=0.02)
