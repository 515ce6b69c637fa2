# SPDX-License-Identifier: Apache-2.0
"""All-reduces around a late rank on many hosts: right by `verify`, and in about the rounds that NICs need."""

from __future__ import annotations

import math

import pytest

import hemiola as hm
from hemiola.errors import ArgumentError
from hemiola.synthesis import late_hosts

NBYTES, DELAY_S = 256 << 20, 1.0
HOST = {"latency_s": 1e-6, "bandwidth": 80e9, "nic_latency_s": 3e-6, "nic_bandwidth": 12.5e9}
NETWORKS = {
    "one NIC": lambda: hm.topologies.hosts(5, 4, **HOST),
    "one NIC for two": lambda: hm.topologies.hosts(6, 4, 2, **HOST),
    "a NIC each": lambda: hm.topologies.dgx_a100(3),
    "rails": lambda: hm.topologies.hosts(7, 3, 3, rails=True, **HOST),
    "two ranks": lambda: hm.topologies.hosts(4, 2, inside="fully_connected", **HOST),
    "two NICs of two ranks": lambda: hm.topologies.hosts(
        3, 2, 2, **(HOST | {"nic_bandwidth": [12.5e9, 25e9]})
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("nbytes", [0, 1 << 16, NBYTES])
def test_whoever_is_late_is_added_exactly_once(name: str, nbytes: int) -> None:
    network = NETWORKS[name]()
    for late_rank in (0, network.rank_count // 2, network.rank_count - 1):
        for pieces in (1, 5):
            schedule = late_hosts(network, late_rank, pieces=pieces, nbytes=nbytes)
            assert hm.verify(schedule, topology=network) == [], (late_rank, pieces)
            rows = schedule.transfers
            assert late_rank not in schedule.collective.owner
            assert sorted(rows["chunk"][rows["dst"] == late_rank]) == list(range(schedule.chunk_count))


def test_one_nic_a_host_takes_the_fewest_rounds() -> None:
    # Derivation: 64 pieces go through each NIC, and 5 rounds fill 32 hosts; a round is a piece and, as 3 µs are less
    # than a twentieth of the 84 µs of a piece, the latency on top: hops inside hosts in front and behind.
    network, late = hm.topologies.hosts(32, 8, **HOST), hm.Conditions(late={131: DELAY_S})
    schedule = late_hosts(network, 131, pieces=256, nbytes=NBYTES)
    after_s = hm.simulate(schedule, network, NBYTES, late).seconds - DELAY_S
    piece_s = NBYTES / 256 / 12.5e9
    rounds = 256 + math.ceil(math.log2(32))
    assert NBYTES / 12.5e9 <= after_s <= rounds * (piece_s + 3e-6) + 40e-6


def test_lines_of_a_grid_are_hosts() -> None:
    network, late = (
        hm.topologies.switch_2d([4, 6], latency_s=[0.5e-6, 1e-6], bandwidth=[300e9, 25e9]),
        hm.Conditions(late={9: DELAY_S}),
    )
    schedule = late_hosts(network, 9, pieces=64, nbytes=NBYTES, ranks_per_host=4)
    assert hm.verify(schedule, topology=network) == []
    after_s = hm.simulate(schedule, network, NBYTES, late).seconds - DELAY_S
    bound_s = hm.lower_bound(network, "all_reduce", NBYTES, conditions=late).seconds - DELAY_S
    assert bound_s <= after_s <= 1.25 * bound_s


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (hm.topologies.ring(6, latency_s=1e-6, bandwidth=1e9), "hosts"),
        (hm.topologies.dgx_a100(1), "hosts"),
        (hm.topologies.hosts(4, 1, **HOST), "two"),
        (hm.topologies.hosts(4, 4, inside="ring", **HOST), "at once"),
        (hm.topologies.hosts(4, 4, **HOST).degraded({2: 2.0}), "same NICs"),
    ],
    ids=["ring", "one host", "one rank each", "rings inside", "a slow rank"],
)
def test_other_networks_are_refused(network: hm.Topology, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        late_hosts(network, 1)


@pytest.mark.parametrize(
    ("late_rank", "pieces", "message"),
    [(20, 4, "0 … 19"), (-1, 4, "0 … 19"), (0, 0, "pieces"), (0, 4097, "pieces")],
)
def test_what_cannot_be_is_refused(late_rank: int, pieces: int, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        late_hosts(NETWORKS["one NIC"](), late_rank, pieces=pieces)


def test_a_divisor_is_asked_for() -> None:
    with pytest.raises(ArgumentError, match="hosts"):
        late_hosts(NETWORKS["one NIC"](), 0, ranks_per_host=3)


@pytest.mark.parametrize("asked", [{"ranks_per_host": 0}, {"ranks_per_host": -4}, {"nbytes": -1}], ids=str)
def test_no_ranks_and_less_than_no_bytes_are_refused(asked: dict[str, int]) -> None:
    with pytest.raises(ArgumentError, match=f"late_hosts: expected .*found.* {next(iter(asked.values()))}"):
        late_hosts(NETWORKS["one NIC"](), 0, **asked)


def test_where_each_rank_has_a_nic_hosts_take_little_more_than_the_bound() -> None:
    # Derivation: 64 pieces and two rounds to fill three hosts are 1.03 of what the NICs need, and hops inside hosts
    # come in front and behind. The ranks beside the late one hand on one hop a step, or they would hold up their NICs.
    network, late = hm.topologies.dgx_a100(3), hm.Conditions(late={0: DELAY_S})
    schedule = late_hosts(network, 0, pieces=64, nbytes=NBYTES)
    after_s = hm.simulate(schedule, network, NBYTES, late).seconds - DELAY_S
    bound_s = hm.lower_bound(network, "all_reduce", NBYTES, conditions=late).seconds - DELAY_S
    assert bound_s <= after_s <= 1.1 * bound_s
