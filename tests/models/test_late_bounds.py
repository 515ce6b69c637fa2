# SPDX-License-Identifier: Apache-2.0
"""What must still happen once ranks have come late, by hand, and beside schedules for late ranks in both networks."""

from __future__ import annotations

import pytest

import hemiola as hm

GB = 10**9


def late_s(topology: hm.Topology, kind: str, nbytes: int, late: dict[int, float]) -> float:
    bounds = hm.lower_bound(topology, kind, nbytes, hm.Conditions(late=late)).bounds
    return next(bound.seconds for bound in bounds if bound.name == "late")


@pytest.mark.parametrize("kind", ["all_reduce", "all_gather", "all_to_all", "reduce_scatter", "broadcast"])
def test_what_others_need_of_a_late_rank_crosses_its_host_s_nic_after_it_has_come(kind: str) -> None:
    # Given 4 hosts of 4 ranks, 80 GB/s inside, one NIC of 1 GB/s each; rank 0 comes after 100 s; 16 GB.
    # Derivation: 16 GB of rank 0 leave its host, or its share of 1 GB, or a block of 1 GB for each of 12 ranks.
    network = hm.topologies.hosts(4, 4, latency_s=0, bandwidth=80 * GB, nic_latency_s=0, nic_bandwidth=GB)
    crossing = {"all_reduce": 16, "broadcast": 16, "all_gather": 1, "all_to_all": 12, "reduce_scatter": 12}
    assert late_s(network, kind, 16 * GB, {0: 100.0}) == pytest.approx(100 + crossing[kind])


@pytest.mark.parametrize(("ranks", "late", "buffers"), [(8, 3, 9), (8, 4, 10), (16, 6, 20), (4, 4, 6)])
def test_of_late_ranks_all_but_one_send_their_part_and_all_but_one_receive_the_sum(
    ranks: int, late: int, buffers: int
) -> None:
    # Given n ranks behind a switch, 1 GB/s a port, of which k come after 100 s; 1 GB.
    # Derivation: k - 1 partial sums and n - 1 results leave after that, through n ports.
    network = hm.topologies.switch(ranks, latency_s=0, bandwidth=GB)
    found_s = late_s(network, "all_reduce", GB, dict.fromkeys(range(late), 100.0))
    assert found_s == pytest.approx(100 + buffers / ranks)


def test_before_late_ranks_come_their_ports_limit_what_is_under_way_to_them() -> None:
    # Given 8 ranks behind a switch, 1 GB/s a port, of which 4 come after 0.1 s; 1 GB.
    # Derivation: 10 GB as above, and 1 GB more: a byte's sum is first held by a rank in time, to which one more late
    # rank sends; or by a late one, and then what the others have enters the late ranks. Of that, 4 ports take 0.4 GB
    # before 0.1 s.
    network = hm.topologies.switch(8, latency_s=0, bandwidth=GB)
    assert late_s(network, "all_reduce", GB, dict.fromkeys(range(4), 0.1)) == pytest.approx(0.1 + 10.6 / 8)


def test_what_is_on_its_way_before_late_ranks_come_keeps_the_bound_from_n_minus_1_plus_k() -> None:
    # Given 3 ranks behind a switch, 1 GB/s a port, of which 1 and 2 come after 100 s; 1 GB in two halves of K pieces.
    # Derivation: a fifo network brings the parts of rank 0 to them while they are away. After it each of the two sends
    # the other its part of a half, 0.5 s, and rank 0 the sum of its own half, which that passes on to the other: ports
    # of late ranks send 1 GB each. So (n-2+k)/n = 1 is near, where (n-1+k)/n is 4/3, which fluid networks cannot beat.
    pieces = 64
    rows = []
    for half, (own, other) in enumerate(((1, 2), (2, 1))):
        for piece in range(pieces):
            chunk, step = half * pieces + piece, pieces + 2 * piece
            rows += [(piece, 0, own, chunk, True), (step, other, own, chunk, True)]
            rows += [(step + 3, own, 0, chunk, False), (step + 6, 0, other, chunk, False)]
    owners = [1] * pieces + [2] * pieces
    schedule = hm.Schedule.from_transfers(hm.Collective.with_owners("all_reduce", 3, owners), rows)
    assert hm.verify(schedule) == []
    topology, conditions = (
        hm.topologies.switch(3, latency_s=0, bandwidth=GB),
        hm.Conditions(late={1: 100.0, 2: 100.0}),
    )
    bound_s = hm.lower_bound(topology, "all_reduce", GB, conditions).seconds - 100
    fifo_s, fluid_s = (
        hm.simulate(schedule, topology, GB, conditions, network).seconds - 100
        for network in ("fifo", "fluid")
    )
    assert bound_s == pytest.approx(1)
    assert 1 <= fifo_s < 1.1
    assert fluid_s >= 4 / 3


@pytest.mark.parametrize("network", ["fluid", "fifo"])
@pytest.mark.parametrize("late", [1, 2, 3, 4])
def test_no_schedule_for_late_ranks_is_faster(late: int, network: str) -> None:
    topology = hm.topologies.switch(8, latency_s=1e-6, bandwidth=25 * GB)
    names = [
        a for a in hm.algorithms.names() if a.startswith("all_reduce") and hm.algorithms.get(a).is_valid(8)
    ]
    for delay_s in (1e-4, 1e-3, 1e-1):
        conditions = hm.Conditions(late=dict.fromkeys(range(8 - late, 8), delay_s))
        bound_s = hm.lower_bound(topology, "all_reduce", 1 << 26, conditions).seconds
        for name in names:
            schedule = hm.algorithms.get(name).generate(8)
            assert hm.simulate(schedule, topology, 1 << 26, conditions, network).seconds >= bound_s * (
                1 - 1e-9
            )
