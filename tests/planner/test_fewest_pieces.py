# SPDX-License-Identifier: Apache-2.0
"""As few pieces as are as good as the best number: by hand, and in plans, where messages are counted, not timed."""

from __future__ import annotations

import pytest

import hemiola as hm
from hemiola.algorithms.fewest_pieces import AS_GOOD, as_good_as, fewest_pieces, fewest_up_to
from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError
from hemiola.planner import communicator_plans
from hemiola.planner.communicator_plans import CommunicatorPlans
from hemiola.planner.outcome import Plan
from hemiola.planner.recipe import Recipe

KIB = 1 << 10


def switch(ranks: int) -> hm.Topology:
    """What `hemiola doctor --truth` emulates."""
    return hm.topologies.switch(ranks, latency_s=25e-6, bandwidth=1e9)


def test_the_fewest_of_those_within_a_percent_are_taken() -> None:
    """Given 1.02, 1.009 and 1 s for 1, 2 and 4 pieces. Expect 2; 4 where 0.9 s of that are a wait, as 1 % of the rest
    is a millisecond; 1 within 5 %; nothing of none."""
    times = {1: 1.02, 2: 1.009, 4: 1.0}
    assert fewest_pieces(times, times.__getitem__, lambda pieces: pieces) == 2
    assert fewest_pieces(times, times.__getitem__, lambda pieces: pieces, delay_s=0.9) == 4
    assert fewest_pieces(times, times.__getitem__, lambda pieces: pieces, as_good=1.05) == 1
    assert fewest_pieces([], float, float) is None


def test_a_wait_is_in_both_times_and_nobodys_merit() -> None:
    assert as_good_as(2.0, as_good=1.1) == pytest.approx(2.2)
    assert as_good_as(2.0, delay_s=1.5, as_good=1.1) == pytest.approx(2.05)
    assert as_good_as(2.0, delay_s=3.0) == 2.0


@pytest.mark.parametrize("most", [1, 3, 17, 100, 4096])
def test_of_a_time_that_falls_and_rises_the_fewest_are_found(most: int) -> None:
    """Given 100/k + k. Expect what looking at all finds."""
    seconds = {count: 100 / count + count for count in range(1, most + 1)}
    best_s = min(seconds.values())
    expected = next(count for count, each_s in seconds.items() if each_s <= AS_GOOD * best_s)
    assert fewest_up_to(most, seconds.__getitem__) == expected


@pytest.mark.parametrize("name", ["broadcast_chain", "broadcast_double_binary_tree", "reduce_circulant"])
def test_a_pipeline_has_fewer_chunks_than_its_formula_has_cheapest(name: str) -> None:
    """A chain of 8 that sends 8 MiB: (6 + K)(25 us + 8389 us / K) is least at K = 45, within a percent from 33 on."""
    algorithm, (one,) = hm.algorithms.get(name), _candidates(name, 8, 8 << 20)
    best = algorithm.best_chunk_count(8, 8 << 20, 25e-6, 1e9)
    chunks = one.arguments["chunk_count"]
    least_s = algorithm.seconds(8, 8 << 20, 25e-6, 1e9, chunk_count=best)
    assert isinstance(chunks, int)
    assert best is not None
    assert chunks < 0.9 * best
    assert least_s < one.formula_s <= AS_GOOD * least_s
    if name == "broadcast_chain":
        assert (best, chunks) == (45, 33)


def _candidates(name: str, ranks: int, nbytes: int) -> list[hm.algorithms.Candidate]:
    algorithm = hm.algorithms.get(name)
    network = switch(ranks)
    speed = hm.topology.port_speed.port_speed(network)
    return algorithm.candidates(
        hm.algorithms.Task(algorithm.kind, ranks, nbytes, speed, Conditions(), 0, network)
    )


@pytest.mark.parametrize("ranks", [4, 8])
def test_no_number_of_pieces_of_the_chosen_algorithm_is_a_percent_faster(ranks: int) -> None:
    for network in (switch(ranks), hm.topologies.torus([2, ranks // 2], latency_s=1e-6, bandwidth=1e9)):
        for kind in ("broadcast", "all_reduce", "all_gather"):
            plan = hm.plan(network, kind, 256 * KIB)
            same = [one for one in plan.alternatives if one.name == plan.name and one.is_comparable]
            assert plan.seconds <= AS_GOOD * min(one.seconds for one in same)
            as_good = [one for one in same if one.seconds <= AS_GOOD * min(each.seconds for each in same)]
            assert plan.alternatives[0].transfer_count == min(one.transfer_count for one in as_good)


def emulated(ranks: int, kind: str, nbytes: int, conditions: Conditions | None = None) -> Plan:
    """Return what ranks that emulate a switch on two cores plan."""
    plans = CommunicatorPlans(range(ranks), [0] * ranks, None, switch(ranks), conditions or Conditions(), [])
    plans._take_emulated(switch(ranks))
    words = plans.decide(kind, nbytes, 0, {}, "", False)
    assert Recipe.from_bytes(words).alternatives
    return plans.plan(words, kind, nbytes, 0, {})


@pytest.fixture
def on_two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(communicator_plans, "machine_cores", lambda: 2)


@pytest.mark.usefixtures("on_two_cores")
@pytest.mark.parametrize(
    ("ranks", "kind", "nbytes", "most"),
    [
        (7, "broadcast", 32 * KIB, 6),
        (7, "reduce", 128 * KIB, 36),
        (4, "reduce", 256 * KIB, 12),
        (6, "broadcast", 8 << 20, 100),
    ],
)
def test_ranks_that_emulate_a_network_send_few_messages(
    ranks: int, kind: str, nbytes: int, most: int
) -> None:
    """Given 10 us of two cores for each. The network alone makes hundreds worth it, of 85 bytes each."""
    alone, plan = hm.plan(switch(ranks), kind, nbytes), emulated(ranks, kind, nbytes)
    assert plan.schedule.transfer_count <= most
    assert alone.schedule.transfer_count > 500
    # What it says it takes is its network and 10 us a message.
    network_s = hm.simulate(plan.schedule, switch(ranks), nbytes).seconds
    assert plan.seconds == pytest.approx(network_s + 10e-6 * plan.schedule.transfer_count)
    assert plan.seconds < alone.seconds + 10e-6 * alone.schedule.transfer_count


@pytest.mark.usefixtures("on_two_cores")
def test_what_is_sent_before_the_last_rank_has_come_is_not_counted() -> None:
    """Given a rank 5 ms late: the others' cores have nothing else to do."""
    late = Conditions(late={3: 5e-3})
    plan = emulated(4, "all_reduce", 256 * KIB, late)
    assert plan.seconds == pytest.approx(hm.plan(switch(4), "all_reduce", 256 * KIB, late).seconds, rel=1e-3)


def test_messages_count_once_however_many_chunks_they_hold() -> None:
    """Given an all-gather of 8, which in three steps of Bruck's is 24 messages of 56 chunks; 1 ms each."""
    network = hm.topologies.switch(8, latency_s=1e-6, bandwidth=1e9)
    plan = hm.plan(network, "all_gather", 8 * KIB, shared_message_s=1e-3)
    first = plan.alternatives[0]
    assert (first.name, first.transfer_count) == ("all_gather_bruck", 56)
    assert plan.seconds == pytest.approx(24e-3, rel=0.02)


@pytest.mark.parametrize("cost_s", [-1e-9, float("inf"), float("nan")])
def test_costs_that_cannot_be_are_rejected(cost_s: float) -> None:
    with pytest.raises(ArgumentError, match="shared_message_s"):
        hm.plan(switch(4), "broadcast", KIB, shared_message_s=cost_s)
