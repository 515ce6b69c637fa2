# SPDX-License-Identifier: Apache-2.0
"""Slow ports are noticed from the traffic itself, planned for by all ranks at once, and forgotten when they recover.

All counts are in operations. Ports and links are slow enough (a message of a tenth of a millisecond and more)
for a busy machine's disturbances to be small beside what is measured."""

from __future__ import annotations

import health_ranks as work
import pytest

import hemiola as hm

LIMIT_S = 120
#: How many operations may pass from a change of the network to a schedule for it.
WITHIN = 10


def switch(rank_count: int) -> hm.Topology:
    return hm.topologies.switch(rank_count, latency_s=50e-6, bandwidth=20e6)


def run(
    ranks: int,
    operations: int,
    events: dict[int, dict[int, float]],
    schedule: str | None = None,
    adapt: str | None = None,
) -> list:
    stories = hm.launch(
        work.degraded_run,
        ranks,
        operations,
        events,
        schedule,
        adapt,
        emulate=switch(ranks),
        timeout_s=LIMIT_S,
    )
    assert sum(story.wrong for story in stories) == 0
    assert all(story.changes == stories[0].changes for story in stories)
    assert all(story.names == stories[0].names for story in stories)
    assert all(story.slow == stories[0].slow for story in stories)
    return stories


def test_a_nic_that_degrades_in_a_run_is_planned_for_within_10_operations_and_back_within_10() -> None:
    story = run(8, 100, {40: {3: 2.0}, 80: {}})[0]
    degraded, recovered = story.marks
    in_force = [(number, slow) for number, slow in story.changes if degraded <= number < recovered]
    back = [(number, slow) for number, slow in story.changes if number >= recovered]
    assert in_force[0][0] - degraded <= WITHIN
    assert in_force[0][1] == {3: 2.0}
    assert back[0][0] - recovered <= WITHIN
    assert back[0][1] == {}
    # The schedule follows: another one while the port is slow, the first one again afterwards.
    assert story.names[40 + WITHIN] != story.names[39]
    assert story.names[80 + WITHIN] == story.names[39]


@pytest.mark.parametrize("factor", [1.14, 2.0])
def test_the_healthy_plan_comes_back_however_little_the_port_was_slow(factor: float) -> None:
    story = run(5, 160, {3: {2: factor}, 40: {}})[0]
    assert {2} in [set(slow) for _, slow in story.changes], "it was not noticed"
    assert story.changes[-1][1] == {}
    assert story.slow == []
    assert story.names[-1] == story.names[0]


def test_two_ranks_may_be_slow_by_different_factors() -> None:
    story = run(8, 40, {10: {0: 2.0, 5: 1.5}})[0]
    factors = {rank: factor for rank, factor, _ in story.slow}
    assert factors.keys() == {0, 5}
    assert factors[0] == 2.0
    assert factors[5] in (1.5, 2.0)  # what waits looks slower, and a step too much is cheap
    assert story.changes[-1][0] - story.marks[0] <= 2 * WITHIN
    for _, _, since in story.slow:
        assert 0 <= since - story.marks[0] < WITHIN


def test_two_ranks_that_recover_one_after_the_other_are_cleared_however_small_the_messages() -> None:
    story = run(6, 80, {5: {1: 2.0}, 25: {1: 2.0, 4: 3.0}, 45: {4: 3.0}, 62: {}})[0]
    assert [slow for _, slow in story.changes if 1 in slow and 4 in slow]
    assert story.changes[-1][1] == {}
    assert story.slow == []


def test_a_rank_between_two_slow_ones_is_cleared_once_others_talk_to_it() -> None:
    # In a ring rank 1 only ever talks to 0 and 2, so nobody can tell that its own port is well; the exchange that is
    # planned for slow ranks has everybody talk to everybody.
    story = run(6, 50, {5: {0: 2.0, 2: 2.0}})[0]
    assert {rank: factor for rank, factor, _ in story.slow} == {0: 2.0, 2: 2.0}


def test_a_slow_port_is_noticed_whatever_runs_but_a_named_schedule_is_never_replaced() -> None:
    story = run(5, 12, {2: {1: 2.0}}, "all_reduce_ring")[0]
    assert story.slow[0][:2] == (1, 2.0)


def test_where_adapting_is_forbidden_a_slow_port_is_told_and_plans_stay() -> None:
    story = run(8, 20, {5: {3: 2.0}}, adapt="late")[0]
    assert story.slow[0][:2] == (3, 2.0)
    assert len(set(story.names)) == 1


def test_a_late_rank_is_not_a_slow_port() -> None:
    for story in hm.launch(work.late_rank, 5, 40, emulate=switch(5), timeout_s=LIMIT_S):
        assert (story.wrong, story.changes) == (0, [])


def test_a_busy_core_is_not_a_slow_port() -> None:
    for story in hm.launch(work.busy_core, 4, 25, emulate=switch(4), timeout_s=LIMIT_S):
        assert (story.wrong, story.changes) == (0, [])


def test_what_conditions_say_from_the_start_is_neither_news_nor_forgotten() -> None:
    conditions = hm.Conditions(slow={2: 1.7})
    for story in hm.launch(
        work.degraded_run, 5, 20, {}, emulate=switch(5), conditions=conditions, timeout_s=LIMIT_S
    ):
        assert story.wrong == 0
        assert (2, 1.7, 0) in story.slow
        assert all(slow[2] == 1.7 for _, slow in story.changes)


def test_slow_ranks_may_relay_for_each_other() -> None:
    slow = {1: 1.5, 3: 2.0}
    for story in hm.launch(
        work.degraded_run,
        5,
        12,
        {},
        hm.algorithms.all_reduce_relayed_exchange(5, slow, 4),
        emulate=switch(5),
        conditions=hm.Conditions(slow=slow),
        timeout_s=LIMIT_S,
    ):
        assert story.wrong == 0
        assert {rank: factor for rank, factor, _ in story.slow} == slow


def test_what_conditions_say_is_known_since_start_up() -> None:
    conditions = hm.Conditions(slow={2: 1.7})
    for since_s, running_s in hm.launch(
        work.known_since, 5, emulate=switch(5), conditions=conditions, timeout_s=LIMIT_S
    ):
        assert 0 <= since_s <= running_s


def test_operations_started_before_a_change_follow_it_when_their_turn_comes() -> None:
    stories = hm.launch(work.background_run, 5, 60, 0, emulate=switch(5), timeout_s=LIMIT_S)
    assert sum(story.wrong for story in stories) == 0
    assert all(story.changes == stories[0].changes for story in stories)
    assert stories[0].slow[0][:2] == (2, 2.0)


def test_groups_watch_their_own_ports_by_their_own_numbers() -> None:
    first, *others = hm.launch(work.degraded_group, 5, 15, emulate=switch(5), timeout_s=LIMIT_S)
    assert first[1].slow == []
    for slow_in_all, story in others:
        assert (slow_in_all, story.wrong) == (0, 0)
        assert [(rank, factor) for rank, factor, _ in story.slow] == [(1, 3.0)]


def test_health_may_be_asked_while_operations_run() -> None:
    assert len(hm.launch(work.health_in_the_middle, 4, emulate=switch(4), timeout_s=LIMIT_S)) == 4


def test_factors_that_cannot_be_are_refused() -> None:
    assert hm.launch(work.mistakes, 2, emulate=switch(2), timeout_s=LIMIT_S) == [["ArgumentError"] * 5] * 2


@pytest.mark.parametrize("ranks", [1, 3])
def test_over_shared_memory_there_is_nothing_to_watch_or_degrade(ranks: int) -> None:
    for watching, operations, slow, text in hm.launch(work.unwatched, ranks, timeout_s=LIMIT_S):
        assert (watching, operations, slow) == (False, 1, 0)
        assert "shared memory" in text
    assert hm.launch(work.mistakes, ranks, timeout_s=LIMIT_S) == [["ArgumentError"] * 5] * ranks
