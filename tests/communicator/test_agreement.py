# SPDX-License-Identifier: Apache-2.0
"""All ranks run the same, whatever each one's planner would come to."""

from __future__ import annotations

from pathlib import Path

import agreement_ranks as work
import pytest

import hemiola as hm
from hemiola.communicator.control_plane import meeting_at_an_address

LIMIT_S = 90
NETWORK = hm.topologies.switch(4, latency_s=1e-5, bandwidth=200e6)


@pytest.mark.parametrize("network", [None, NETWORK], ids=["shared memory", "emulated"])
def test_planners_that_come_to_different_algorithms_break_nothing(network: hm.Topology | None) -> None:
    found = hm.launch(work.disagreeing_planners, 4, emulate=network, timeout_s=LIMIT_S)
    assert all(all(right) for right, _, _ in found)
    assert len({tuple(names) for _, _, names in found}) == 1


def test_of_all_ranks_one_plans() -> None:
    found = hm.launch(work.disagreeing_planners, 4, timeout_s=LIMIT_S)
    assert sum(len(planned) for _, planned, _ in found) == len(work.SIZES)


def test_another_last_bit_and_another_optimum_on_one_rank_break_nothing() -> None:
    slow = hm.Conditions(slow={0: 1.5, 2: 1.5})
    found = hm.launch(work.another_last_bit, 4, 1, emulate=NETWORK, conditions=slow, timeout_s=LIMIT_S)
    assert all(all(right) for right in found)


def test_a_late_rank_0_is_not_waited_for(tmp_path: Path) -> None:
    first, *others = hm.launch(work.late_first_rank, 3, str(tmp_path), timeout_s=LIMIT_S)
    assert first == []
    assert sum(len(planned) for planned in others) == 1


def test_where_nothing_can_be_chosen_every_rank_raises_the_same_and_goes_on() -> None:
    found = hm.launch(work.nothing_to_choose, 3, timeout_s=LIMIT_S)
    assert all(raised == found[0][0] and "nothing runs this" in raised for raised, _ in found)
    assert [after for _, after in found] == [3.0] * 3


@pytest.mark.parametrize("how", ["closes", "dies"])
def test_when_the_rank_that_keeps_the_choices_leaves_others_know_those_they_have_heard(
    how: str, tmp_path: Path
) -> None:
    found = hm.launch(
        work.keeper_that_leaves,
        3,
        meeting_at_an_address(),
        how,
        str(tmp_path),
        timeout_s=LIMIT_S,
        on_failure="continue",
    )
    for known, *unknown in found[1:]:
        assert known == "True"
        assert all(told.startswith("rank 0 is lost, soon: ") for told in unknown), unknown
