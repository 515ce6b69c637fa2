# SPDX-License-Identifier: Apache-2.0
"""All-to-alls whose blocks differ: their plans, their bounds, and sizes that no plan takes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import hemiola as hm
from hemiola.algorithms.block_sizes import BlockSizes
from hemiola.planner.blocks_of_call import schedule_of_blocks
from hemiola.synthesis.exchange_through_hosts import exchange_through_hosts

NICS = {"latency_s": 1e-6, "bandwidth": 450e9, "nic_latency_s": 5e-6, "nic_bandwidth": 50e9}
FOUR_HOSTS = hm.topologies.hosts(4, 8, 8, **NICS)
SWITCH = hm.topologies.switch(3, latency_s=0.0, bandwidth=1e9)


def skewed(n: int, zipf: float, seed: int, mebibytes: int = 64) -> NDArray[np.int64]:
    """So much a rank on average: shares of 1, 1/2^zipf, 1/3^zipf, … in an order of each rank's own."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, n + 1) ** zipf
    table = np.stack([rng.permutation(share) * rng.uniform(0.5, 1.5) for _ in range(n)])
    np.fill_diagonal(table, 0)
    return (table / table.sum() * n * mebibytes * 2**20).astype(np.int64)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("network", ["fluid", "fifo"])
@pytest.mark.parametrize(("zipf", "times"), [(0.6, 1.2), (1.2, 1.5)])
def test_hosts_share_the_work_of_their_nics(zipf: float, times: float, network: str, seed: int) -> None:
    sizes = BlockSizes.of(skewed(32, zipf, seed), 32)
    plan = hm.plan(FOUR_HOSTS, "all_to_all", sizes.table, network=network)
    direct = sizes.given_to(hm.algorithms.get("all_to_all_direct").generate(32))
    direct_s, planned_s = (
        hm.simulate(schedule, FOUR_HOSTS, sizes.per_rank, network=network).seconds
        for schedule in (direct, plan.schedule)
    )
    assert hm.verify(plan.schedule) == []
    assert planned_s == plan.seconds
    assert direct_s >= times * planned_s
    assert plan.bound_s <= planned_s <= 1.15 * plan.bound_s


@pytest.mark.parametrize("network", ["fluid", "fifo"])
def test_little_skewed_data_takes_a_fifth_more_than_its_bound_which_knows_one_way_of_three(
    network: str,
) -> None:
    # 4 MiB a rank take a NIC some 0.1 ms. Each message to a NIC, to the other host and to its receiver has a latency.
    for zipf in (0.6, 1.2):
        plan = hm.plan(FOUR_HOSTS, "all_to_all", skewed(32, zipf, 1, 4), network=network)
        assert plan.bound_s <= plan.seconds <= 1.2 * plan.bound_s


@pytest.mark.parametrize("network", ["fluid", "fifo"])
@pytest.mark.parametrize(
    "topology",
    [
        hm.topologies.switch(2, latency_s=1e-6, bandwidth=1e9),
        hm.topologies.switch(5, latency_s=1e-6, bandwidth=1e9),
        hm.topologies.ring(6, latency_s=1e-6, bandwidth=1e9),
        hm.topologies.mesh([3, 3], latency_s=1e-6, bandwidth=1e9),
        hm.topologies.fully_connected(5, latency_s=1e-6, bandwidth=1e9),
        hm.topologies.hosts(2, 3, 1, **NICS),
        hm.topologies.hosts(3, 2, 2, **NICS),
    ],
    ids=lambda one: one.name,
)
def test_every_plan_is_right_and_not_below_its_bound(topology: hm.Topology, network: str) -> None:
    n = topology.rank_count
    for seed in range(3):
        table = skewed(n, 1.2, seed)
        table[seed % n] = 0  # a rank that sends nothing
        plan = hm.plan(topology, "all_to_all", table, network=network)
        assert hm.verify(plan.schedule) == []
        assert plan.seconds >= plan.bound_s
        pieces = np.asarray(plan.schedule.chunk_weights).reshape(n, n, -1)
        assert (pieces.sum(axis=2) == table).all()


def test_a_plan_of_equal_blocks_takes_as_long_as_one_of_a_number() -> None:
    table = np.full((32, 32), 2**20)
    of_sizes = hm.plan(FOUR_HOSTS, "all_to_all", table)
    of_a_number = hm.plan(FOUR_HOSTS, "all_to_all", 32 * 2**20)
    assert of_sizes.seconds <= of_a_number.seconds
    assert of_sizes.bound_s == pytest.approx(of_a_number.bound_s)


def test_blocks_without_bytes_take_no_time() -> None:
    plan = hm.plan(FOUR_HOSTS, "all_to_all", np.zeros((32, 32), np.int64))
    assert plan.seconds == 0
    assert "moves nothing" in plan.explain()


def test_a_rank_carries_as_much_as_any_other_of_its_host() -> None:
    # Given two hosts of two ranks, of which rank 0 alone sends: 600 bytes to rank 2. Derivation: halves of 300.
    table = np.zeros((4, 4), np.int64)
    table[0, 2] = 600
    schedule = exchange_through_hosts(table, np.ones((2, 2), np.int64), 2)
    assert hm.verify(schedule) == []
    weight = np.asarray(schedule.chunk_weights)
    rows = [(t["step"], t["src"], t["dst"], weight[t["chunk"]]) for t in schedule.transfers]
    assert [row for row in rows if row[3]] == [(0, 0, 1, 300), (1, 0, 2, 300), (1, 1, 3, 300), (2, 3, 2, 300)]


def test_a_part_in_slices_is_on_all_its_ways_at_once() -> None:
    # Given the same in two slices. Derivation: quarters of 150, the second of each rank a step behind the first.
    table = np.zeros((4, 4), np.int64)
    table[0, 2] = 600
    schedule = exchange_through_hosts(table, np.ones((2, 2), np.int64), 2, slices=2)
    assert hm.verify(schedule) == []
    weight = np.asarray(schedule.chunk_weights)
    rows = {(t["step"], t["src"], t["dst"], weight[t["chunk"]]) for t in schedule.transfers}
    first = {(0, 0, 1, 150), (1, 0, 2, 150), (1, 1, 3, 150), (2, 3, 2, 150)}
    assert {row for row in rows if row[3]} == first | {(step + 1, *rest) for step, *rest in first}


def test_the_busiest_port_bounds_an_exchange() -> None:
    # Given a switch of 1 GB/s ports. Derivation: rank 2 receives 3000 + 4000 bytes, more than any rank sends.
    bound = hm.lower_bound(SWITCH, "all_to_all", [[9, 1000, 3000], [2000, 0, 4000], [0, 0, 0]])
    assert bound.seconds == pytest.approx(7e-6)
    assert bound.witness.startswith("rank 2 must receive 6.836 KiB")


def test_the_nics_of_a_host_bound_an_exchange() -> None:
    # Given hosts of two ranks that share a NIC of 1 GB/s. Derivation: host 1's ranks send 2000 and 3000 bytes to host
    # 0, and 5000 bytes take its NIC 5 us. Their blocks for each other do not count.
    links = {"latency_s": 0.0, "bandwidth": 100e9, "nic_latency_s": 0.0, "nic_bandwidth": 1e9}
    table = [[0, 0, 0, 0], [0, 0, 0, 0], [2000, 0, 0, 9000], [0, 3000, 9000, 0]]
    bound = hm.lower_bound(hm.topologies.hosts(2, 2, 1, **links), "all_to_all", table)
    assert next(one for one in bound.bounds if one.name == "islands").seconds == pytest.approx(5e-6)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ([[0, 1], [1, 0]], "shape"),
        (np.arange(3), "shape"),
        ([[0, 1, 2], [1, 0]], "rows"),
        (np.zeros((3, 3)), "whole bytes"),
        ([[0, 1, 2], [3, 0, -4], [5, 6, 0]], "found -4 from rank 1 to rank 2"),
        (np.full((3, 3), 2**49), "in all"),
        (np.full((3, 3), 2**63, np.uint64), "found 9223372036854775808"),
    ],
    ids=["too few", "flat", "ragged", "floats", "negative", "too much", "unsigned"],
)
def test_sizes_that_are_none_are_refused(table: object, words: str) -> None:
    for call in (hm.plan, hm.lower_bound):
        with pytest.raises(hm.ArgumentError, match=words):
            call(SWITCH, "all_to_all", table)


def test_other_collectives_take_no_sizes() -> None:
    for call in (hm.plan, hm.lower_bound):
        with pytest.raises(hm.ArgumentError, match="found an array"):
            call(SWITCH, "all_gather", np.zeros((3, 3), np.int64))
    with pytest.raises(hm.ArgumentError, match="ports"):
        hm.lower_bound(SWITCH, "all_to_all", np.zeros((3, 3), np.int64), ports="one")


def test_chunks_of_a_block_differ_by_a_byte_at_most() -> None:
    # Given a block of 7 bytes in 4 chunks. Derivation: it is cut after 7·k // 4 bytes, at 1, 3, 5.
    schedule = hm.synthesize(SWITCH, "all_to_all", chunks_per_rank=4)
    sizes = BlockSizes.of(np.full((3, 3), 7), 3)
    assert np.asarray(sizes.given_to(schedule).chunk_weights)[:4].tolist() == [1, 2, 2, 2]


def test_a_call_shares_nics_where_some_have_much_more_to_do() -> None:
    # Given rank 0 with 8 MiB for each other rank. Derivation: its NIC of 1 GB/s takes 24 · 8 MiB, 201 ms; the eight
    # NICs of its host take an eighth of that.
    network = hm.topologies.hosts(4, 8, 8, **{**NICS, "nic_bandwidth": 1e9})
    table = np.zeros((32, 32), np.int64)
    table[0] = 8 << 20
    schedule = schedule_of_blocks(network, BlockSizes.of(table, 32))
    assert schedule is not None
    assert hm.verify(schedule) == []
    per_rank = BlockSizes.of(table, 32).per_rank
    assert hm.simulate(schedule, network, per_rank).seconds < 0.15 * 24 * (8 << 20) / 1e9


def test_a_call_needs_no_schedule_for_its_sizes_where_sharing_gains_nothing() -> None:
    even = BlockSizes.of(np.full((8, 8), 1 << 20), 8)
    small = BlockSizes.of(np.diag(np.ones(7, np.int64), 1), 8)
    own_nics = hm.topologies.hosts(2, 4, 4, **NICS)
    one_nic = hm.topologies.hosts(2, 4, 1, **NICS)
    one_host = hm.topologies.switch(8, latency_s=1e-6, bandwidth=1e9)
    for network, sizes in ((own_nics, even), (own_nics, small), (one_nic, even), (one_host, even)):
        assert schedule_of_blocks(network, sizes) is None
