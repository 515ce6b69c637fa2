# SPDX-License-Identifier: Apache-2.0
"""Where a communicator has its ranks look for a late one by themselves, and what they are told of it."""

from __future__ import annotations

from typing import Any

import pytest

import hemiola as hm
from hemiola._core import LateOutlook, LateRule
from hemiola.planner import communicator_plans, late_habit_plans
from hemiola.planner.communicator_plans import CommunicatorPlans
from hemiola.planner.recipe import LateHabit, Recipe
from hemiola.topology.port_speed import port_speed

MIB = 1 << 20
#: Gigabit NICs.
COST = {"latency_s": 5e-6, "bandwidth": 5e9, "nic_latency_s": 5e-5, "nic_bandwidth": 120e6}


def rule(network: hm.Topology, hosts: list[int], nbytes: int = 16 * MIB) -> LateRule | None:
    """Return how ranks on these hosts, between which this network was measured, look for a late one."""
    plans = CommunicatorPlans(range(len(hosts)), hosts, None, None, hm.Conditions(), ["late"])
    plans._network, plans.speed = network, port_speed(network)
    words = plans.decide("all_reduce", nbytes, 0, {}, "", False)
    found = plans.follow(words, nbytes).late
    assert (found is not None) == (Recipe.from_bytes(words).late is not None)
    return found


@pytest.mark.parametrize("nics", [1, 2])
def test_ranks_that_share_a_hosts_nics_look_for_a_late_one_together(nics: int) -> None:
    """Given 4 hosts of 2 ranks, s/B = 16 MiB / (120 MB/s per NIC). 72 to 120 chunks, 3 rounds more: expect the
    forecast to end with 75/72·s/B at most, and latencies, where 2·3/4·s/B is taken without.
    The ranks of a host are known."""
    found = rule(hm.topologies.hosts(4, 2, nics, **COST), [rank // 2 for rank in range(8)])
    assert found is not None
    assert list(found.node_of_rank) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert found.forecast is not None
    nic_s = 16 * MIB / (nics * 120e6)
    assert found.direct_finish
    assert nic_s < found.forecast.finish_s[-1] < 75 / 72 * nic_s + 123 * 6e-5
    assert found.forecast.plain_s == pytest.approx(1.5 * nic_s, rel=0.05)


def test_the_numbers_of_hosts_need_not_be_in_order() -> None:
    found = rule(hm.topologies.hosts(3, 2, 1, **COST), [7, 7, 5, 5, 9, 9])
    assert found is not None
    assert list(found.node_of_rank) == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("network", "hosts", "nbytes"),
    [
        (hm.topologies.hosts(2, 4, 1, **COST), [0, 0, 0, 0, 1, 1, 1, 1], 16 * MIB),
        (hm.topologies.hosts(3, 2, 1, **COST).without_ranks([5]), [0, 0, 1, 1, 2], 16 * MIB),
        (hm.topologies.hosts(3, 2, 1, **COST), [0, 0, 1, 1, 2, 2], MIB),
        (hm.topologies.switch(6, latency_s=5e-5, bandwidth=120e6), [0, 0, 1, 1, 2, 2], 16 * MIB),
    ],
    ids=["two hosts", "hosts that differ", "an operation too short", "a network that knows no hosts"],
)
def test_nobody_is_looked_for_where_it_cannot_pay_or_nobody_knows(
    network: hm.Topology, hosts: list[int], nbytes: int
) -> None:
    assert rule(network, hosts, nbytes) is None


def test_with_a_rank_a_host_it_is_as_it_was() -> None:
    found = rule(hm.topologies.switch(4, latency_s=5e-5, bandwidth=120e6), [0, 1, 2, 3])
    assert found is not None
    assert list(found.node_of_rank) == []


def habit(
    network: hm.Topology, nbytes: int, late: tuple[int | None, int] | None = None, *, is_emulated: bool = True
) -> tuple[Recipe, LateOutlook]:
    """Return how the all-reduce of a network, emulated or given, is planned for a rank that keeps coming last."""
    ranks = network.rank_count
    given, emulated = (None, network) if is_emulated else (network, None)
    plans = CommunicatorPlans(range(ranks), [0] * ranks, given, emulated, hm.Conditions(), ["late"])
    plans._network, plans.speed = network, port_speed(network)
    words = plans.decide("all_reduce", nbytes, 0, {}, "", False, late)
    outlook = plans.follow(words, nbytes).outlook
    assert outlook is not None
    return Recipe.from_bytes(words), outlook


@pytest.mark.parametrize("is_emulated", [True, False], ids=["emulated", "given"])
def test_off_one_switch_it_is_planned_for_the_rank_that_keeps_coming_last(is_emulated: bool) -> None:
    """Given 4 fully connected, 1 MiB over links of 1 MB/s. Derivation: a rank's 3 links take s/2B = 0.524 s for an
    all-reduce, and 0.35 s for the buffer of one that is late by as much. Expect these within a fifth."""
    network = hm.topologies.fully_connected(4, latency_s=1e-6, bandwidth=1e6)
    recipe, outlook = habit(network, MIB, is_emulated=is_emulated)
    assert recipe.late == LateHabit(outlook.plain_s, MIB)
    assert outlook.plain_s == pytest.approx(0.524, rel=0.2)
    recipe, outlook = habit(network, MIB, (2, 4), is_emulated=is_emulated)
    assert recipe.algorithm == "late_forest"
    assert isinstance(recipe.late, LateHabit)
    assert recipe.late.rank == 2
    assert outlook.delay_s == outlook.plain_s
    assert outlook.finish_s == pytest.approx(0.35, rel=0.2)


@pytest.mark.parametrize("is_emulated", [True, False], ids=["emulated", "given"])
def test_where_another_rank_is_late_each_time_there_is_a_plan_around_each(is_emulated: bool) -> None:
    """Given 4 fully connected, as above: of each rank as late as an all-reduce takes, 0.35 s are left."""
    network = hm.topologies.fully_connected(4, latency_s=1e-6, bandwidth=1e6)
    recipe, outlook = habit(network, MIB, (None, 4), is_emulated=is_emulated)
    assert isinstance(recipe.late, LateHabit)
    assert (recipe.late.rank, len(recipe.late.around)) == (None, 4)
    for rank, schedule in enumerate(recipe.late.around):
        late = hm.Conditions(late={rank: outlook.delay_s})
        assert schedule is not None
        assert hm.verify(schedule) == []
        left_s = hm.simulate(schedule, network, MIB, late).seconds - outlook.delay_s
        assert left_s <= outlook.finish_s == pytest.approx(0.35, rel=0.2)


def test_around_a_rank_for_which_no_plan_is_made_runs_what_there_was(monkeypatch: pytest.MonkeyPatch) -> None:
    plan_well = communicator_plans.plan

    def plan_but_for_rank_1(*args: Any, **options: Any) -> hm.Plan:
        if 1 in args[3].late:
            raise hm.ArgumentError("the others reach each other through rank 1 alone")
        return plan_well(*args, **options)

    monkeypatch.setattr(communicator_plans, "plan", plan_but_for_rank_1)
    network = hm.topologies.fully_connected(4, latency_s=1e-6, bandwidth=1e6)
    recipe, outlook = habit(network, MIB, (None, 4))
    assert isinstance(recipe.late, LateHabit)
    assert [one is None for one in recipe.late.around] == [False, True, False, False]
    assert outlook.finish_s < outlook.plain_s


def test_plans_around_too_many_ranks_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late_habit_plans, "_MOST_TRANSFERS", 100)
    recipe, outlook = habit(hm.topologies.fully_connected(4, latency_s=1e-6, bandwidth=1e6), MIB, (None, 4))
    assert isinstance(recipe.late, LateHabit)
    assert recipe.late.around == ()
    assert outlook.finish_s == outlook.plain_s


def test_a_rule_of_plans_has_one_around_each_rank() -> None:
    ring = hm.algorithms.all_reduce_ring(4)
    for around in ([ring] * 3, [ring] * 3 + [hm.algorithms.all_reduce_ring(5)]):
        with pytest.raises(hm.ArgumentError, match="an all-reduce of 4 ranks around each of them"):
            LateRule.around(ring, around)


def test_a_plan_whose_messages_cost_more_than_it_saves_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given the same over links of 400 MB/s, and one core, of which a message takes 20 us. Derivation: some 0.4 ms to be
    # saved, and 48 messages more than a direct exchange's 24 in the least forest, 1 ms.
    monkeypatch.setattr(communicator_plans, "machine_cores", lambda: 1)
    recipe, outlook = habit(hm.topologies.fully_connected(4, latency_s=1e-6, bandwidth=4e8), MIB, (2, 4))
    assert recipe.algorithm != "late_forest"
    assert isinstance(recipe.late, LateHabit)
    assert recipe.late.rank is None
    assert outlook.finish_s == outlook.plain_s


def test_a_plan_that_fails_is_said_and_what_there_was_stays(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    plan_well = communicator_plans.plan

    def plan_badly(*args: Any, **options: Any) -> hm.Plan:
        if args[3].late:
            raise hm.ArgumentError("my_algorithm: expected a power of two, found 4")
        return plan_well(*args, **options)

    monkeypatch.setattr(communicator_plans, "plan", plan_badly)
    network = hm.topologies.fully_connected(4, latency_s=1e-6, bandwidth=1e6)
    plain, _ = habit(network, MIB)
    recipe, outlook = habit(network, MIB, (2, 4))
    assert recipe.algorithm == plain.algorithm
    assert isinstance(recipe.late, LateHabit)
    assert recipe.late.rank is None
    assert outlook.finish_s == outlook.plain_s
    assert "rank 2 keeps coming late, and nothing is planned for that: my_algorithm" in caplog.text


@pytest.mark.parametrize(("hosts", "is_noted"), [([0, 0, 0, 0], True), ([0, 0, 1, 1], False)])
def test_between_hosts_an_all_reduce_must_take_longer_before_ranks_tell_each_other_when_they_came(
    hosts: list[int], is_noted: bool
) -> None:
    # Given 4 fully connected, 1 MiB over links of 100 MB/s: 5 ms, above 1 ms within a host, below 20 between hosts.
    network = hm.topologies.fully_connected(4, latency_s=1e-6, bandwidth=1e8)
    plans = CommunicatorPlans(range(4), hosts, network, None, hm.Conditions(), ["late"])
    plans._network, plans.speed = network, port_speed(network)
    recipe = Recipe.from_bytes(plans.decide("all_reduce", MIB, 0, {}, "", False))
    assert isinstance(recipe.late, LateHabit) == is_noted


def test_on_a_measured_network_nobody_is_planned_for() -> None:
    plans = CommunicatorPlans(range(4), [0, 0, 1, 1], None, None, hm.Conditions(), ["late"])
    plans._network = hm.topologies.fully_connected(4, latency_s=1e-6, bandwidth=1e6)
    plans.speed = port_speed(plans._network)
    assert Recipe.from_bytes(plans.decide("all_reduce", MIB, 0, {}, "", False)).late is None


def test_nothing_is_noted_of_what_is_shorter_than_a_plan_is_worth() -> None:
    network = hm.topologies.fully_connected(4, latency_s=1e-6, bandwidth=1e10)
    plans = CommunicatorPlans(range(4), [0] * 4, None, network, hm.Conditions(), ["late"])
    plans._network, plans.speed = network, port_speed(network)
    assert Recipe.from_bytes(plans.decide("all_reduce", MIB, 0, {}, "", False)).late is None
