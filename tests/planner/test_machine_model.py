# SPDX-License-Identifier: Apache-2.0
"""What a collective takes on a machine that runs the engine itself, by hand."""

import numpy as np
import pytest

import hemiola as hm
from hemiola.planner.machine_model import EngineCosts, Footprint, WorkRates, memory_network, small_costs

MIB = 1 << 20
KINDS = (
    "all_reduce",
    "reduce_scatter",
    "all_gather",
    "all_to_all",
    "broadcast",
    "reduce",
    "gather",
    "scatter",
)


def footprint(received: list[float], combined: list[float], hops: int = 1, messages: int = 1) -> Footprint:
    return Footprint(hops, messages, np.array(received), np.array(combined))


def test_several_ranks_copy_from_one_at_once_in_memory() -> None:
    """Given 1 GB/s a reader, Derivation: three readers of 1 MB take 1 ms together; through one port they take 3, and as
    a pipeline through each other more than 1. Expect the bound to be that of one reader."""
    memory = memory_network(4, 1e9)
    direct = hm.algorithms.broadcast_direct(4, root=0)
    assert hm.lower_bound(memory, "broadcast", 10**6).seconds == pytest.approx(1e-3)
    assert hm.simulate(direct, memory, 10**6).seconds == pytest.approx(1e-3)
    through_ports = hm.topologies.switch(4, latency_s=0.0, bandwidth=1e9)
    assert hm.simulate(direct, through_ports, 10**6).seconds == pytest.approx(3e-3)


def test_a_root_that_gathers_copies_everything_itself() -> None:
    assert hm.lower_bound(memory_network(4, 1e9), "gather", 4 * 10**6).seconds == pytest.approx(3e-3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rank_count", [2, 3, 8])
def test_what_is_predicted_in_memory_is_never_below_its_bound(kind: str, rank_count: int) -> None:
    memory = memory_network(rank_count, 1e9)
    costs = EngineCosts(0.0, 0.0, 0.0, WorkRates(1e9, 1e9), WorkRates(2e9, 2e9))
    schedule = hm.plan(hm.topologies.switch(rank_count, latency_s=1e-6, bandwidth=1e9), kind, MIB).schedule
    predicted_s = costs.seconds(Footprint.of(schedule), MIB, network_s=0.0)
    assert predicted_s >= hm.lower_bound(memory, kind, MIB).seconds * (1 - 1e-5)  # whole bytes


def test_a_footprint_counts_messages_at_both_ends_and_shares_of_the_buffer() -> None:
    """Given a ring of 4, 2 * 3 steps. Derivation: every rank sends and receives one of 4 chunks in each, and combines
    in the first three."""
    found = Footprint.of(hm.algorithms.all_reduce_ring(4))
    assert (found.hops, found.messages, found.all_messages) == (6, 12, 24)
    assert found.moved.tolist() == [1.5] * 4
    assert found.combined.tolist() == [0.75] * 4


def test_what_goes_between_two_ranks_in_a_step_is_one_message() -> None:
    """Given Bruck's all-gather of 8, three steps in which every rank sends 1, 2 and 4 chunks to one other."""
    found = Footprint.of(hm.algorithms.get("all_gather_bruck").generate(8))
    assert (found.hops, found.messages, found.all_messages) == (3, 6, 24)


def test_the_longest_of_network_rank_and_cores_counts_and_small_costs_come_on_top() -> None:
    """Given ranks that copy 1 MB/s and combine 0.5, twice as much in sum on two cores, and receive 1, 1 and 2 MB,
    of which the last combines one.

    Derivation: the last works 1 + 2 = 3 s, all 5 s, which is 2.5 s on two cores and 5 on one.
    """
    asked = footprint([1.0, 1.0, 2.0], [0.0, 0.0, 1.0], hops=3, messages=4)
    rates = WorkRates(1e6, 0.5e6)
    two = EngineCosts(0.1, 0.01, 0.001, rates, WorkRates(2e6, 1e6))
    one = EngineCosts(0.1, 0.01, 0.001, rates, rates)
    small_s = 0.1 + 3 * 0.01 + 4 * 0.001
    assert two.seconds(asked, 10**6, network_s=1.0) == pytest.approx(3.0 + small_s)
    assert two.seconds(asked, 10**6, network_s=4.0) == pytest.approx(4.0 + small_s)
    assert one.seconds(asked, 10**6, network_s=1.0) == pytest.approx(5.0 + small_s)


def test_hops_are_those_of_one_chunk() -> None:
    """Given a pipeline of 8 chunks through 4 ranks, 3 + 7 steps. Derivation: each chunk goes through 3 ranks."""
    rows = [(chunk + hop, hop, hop + 1, chunk, False) for chunk in range(8) for hop in range(3)]
    pipeline = hm.Schedule.from_transfers(hm.Collective.make("broadcast", 4, 8), rows)
    assert pipeline.step_count == 10
    assert Footprint.of(pipeline).hops == 3


def test_what_ranks_keep_is_copied_beside_the_network() -> None:
    """Given an all-gather of 4, 1 MB, at 2 MB/s on all cores, and 3 s of network. Derivation: each keeps a quarter, all
    together a buffer: 0.5 s. Nothing is kept in an all-reduce; without a network it is work like other."""
    rates = WorkRates(1e6, 1e6)
    costs = EngineCosts(0.0, 0.0, 0.0, rates, WorkRates(2e6, 2e6))
    gathered = Footprint.of(hm.algorithms.all_gather_ring(4))
    assert gathered.kept == 1.0
    assert costs.seconds(gathered, 10**6, network_s=3.0) == pytest.approx(3.5)
    assert costs.seconds(gathered, 10**6, network_s=0.0) == pytest.approx(2.0)
    assert Footprint.of(hm.algorithms.all_reduce_ring(4)).kept == 0.0


def test_what_spreads_from_a_root_has_a_rate_of_its_own() -> None:
    """Given 1 MB to three, at 2 MB/s on all cores, or at 1 where it spreads from a root, relayed or not. Derivation:
    3 MB take 1.5 s, or 3. All that is gathered comes from four ranks."""
    rates, both = WorkRates(1e6, 1e6), WorkRates(2e6, 2e6)
    plain, spread = EngineCosts(0.0, 0.0, 0.0, rates, both), EngineCosts(0.0, 0.0, 0.0, rates, both, 1e6)
    for name in ("broadcast_direct", "broadcast_chain"):
        found = Footprint.of(hm.algorithms.get(name).generate(4, root=0))
        assert found.spread == 3.0
        assert plain.seconds(found, 10**6, network_s=0.0) == pytest.approx(1.5)
        assert spread.seconds(found, 10**6, network_s=0.0) == pytest.approx(3.0)
    gathered = Footprint.of(hm.algorithms.get("all_gather_direct").generate(4))
    assert gathered.spread == 0.0
    assert spread.seconds(gathered, 10**6, network_s=0.0) == plain.seconds(gathered, 10**6, network_s=0.0)


def test_small_costs_are_found_from_schedules_that_differ_in_hops_and_messages() -> None:
    shapes = [footprint([0.0], [0.0], hops, messages) for hops, messages in ((7, 14), (1, 14), (3, 6))]
    taken_s = [5e-6 + 2e-6 * each.hops + 1e-7 * each.messages for each in shapes]
    assert small_costs(shapes, taken_s) == pytest.approx((5e-6, 2e-6, 1e-7))


def test_no_small_cost_is_below_zero() -> None:
    """Given more messages that take less time. Expect a cost for none of them, and what is left as well as it can."""
    shapes = [footprint([0.0], [0.0], 1, messages) for messages in (2, 4, 8)]
    found = small_costs(shapes, [3e-6, 2e-6, 1e-6])
    assert min(found) >= 0
    assert found[2] == 0
    assert found[0] + found[1] > 0


def test_schedules_that_are_all_alike_share_what_they_take() -> None:
    """Given two ranks, whose schedules are one step of two messages. Expect their sum to be what was measured."""
    found = small_costs([footprint([0.0], [0.0], 1, 2)] * 3, [6e-6] * 3)
    assert found[0] + found[1] + 2 * found[2] == pytest.approx(6e-6)


@pytest.mark.parametrize(
    ("kind", "own"), [("all_to_all", 0.25), ("all_gather", 0.25), ("reduce_scatter", 0.0)]
)
def test_shares_are_those_of_the_buffer_that_a_size_is_said_of(kind: str, own: float) -> None:
    """Derivation: in one step each of 4 ranks receives three quarters of a buffer, from the others; what it has itself
    it copies to its output, unless it is added to there."""
    found = Footprint.of(hm.algorithms.get(f"{kind}_direct").generate(4))
    assert found.moved.tolist() == [0.75 + own] * 4


def test_a_root_that_scatters_moves_its_own_part_while_others_fetch_theirs() -> None:
    """Given 2 ranks. Derivation: each moves half; where the root gathers it moves both halves."""
    for name, moved in (("scatter_direct", [0.5, 0.5]), ("gather_direct", [1.0, 0.0])):
        assert Footprint.of(hm.algorithms.get(name).generate(2)).moved.tolist() == moved
