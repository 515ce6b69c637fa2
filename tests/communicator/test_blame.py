# SPDX-License-Identifier: Apache-2.0
"""Errors name the rank that is to blame, by the number that everybody knows it by, and no other rank."""

from __future__ import annotations

import communicator_ranks as work
import pytest

import hemiola as hm

LIMIT_S = 90


def test_errors_in_a_group_name_ranks_of_the_job_and_of_the_group() -> None:
    # Given a group of ranks 1, 3 and 5 of 6, which are 0, 1 and 2 in it.
    found = hm.launch(work.errors_in_a_group, 6, 3, timeout_s=LIMIT_S, on_failure="continue")
    for rank in (1, 5):
        disagreement, lost, world_rank, message = found[rank]
        assert "rank 5 (2 in this group) passed float64[4]" in disagreement or rank == 5
        assert "(2 in this group)" in disagreement
        assert (lost, world_rank) == (1, 3)
        assert "rank 3 (1 in this group) has died" in message
        assert "comm.shrink()" in message


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        ({"keep_inputs": False}, "rank 0 passed keep_inputs=True, rank 2 keep_inputs=False"),
        ({"timeout_s": 59}, "rank 0 passed timeout_s=60, rank 2 timeout_s=59"),
        ({"adapt": "late"}, "rank 0 passed adapt=late,slow, rank 2 adapt=late;"),
        (
            {"emulate": hm.topologies.ring(3, latency_s=1e-6, bandwidth=1e9)},
            "rank 0 passed emulate=None, rank 2 emulate=",
        ),
    ],
    ids=["keep_inputs", "timeout_s", "adapt", "emulate"],
)
def test_ranks_that_differ_in_an_option_of_init_learn_it_there(odd: dict, said: str) -> None:
    for error in hm.launch(work.init_with, 3, {2: odd}, timeout_s=LIMIT_S):
        assert error.startswith("MismatchError: init: ")
        assert said in error


def test_ranks_that_differ_in_the_network_they_emulate_learn_it_in_init() -> None:
    first, second = (hm.topologies.ring(2, latency_s=1e-6, bandwidth=speed) for speed in (1e9, 2e9))
    errors = hm.launch(work.init_with, 2, {0: {"emulate": first}, 1: {"emulate": second}}, timeout_s=LIMIT_S)
    assert all("emulate=" in error and error.startswith("MismatchError") for error in errors)
    slow = {"emulate": first, "conditions": hm.Conditions(slow={1: 2.0})}
    errors = hm.launch(work.init_with, 2, {0: {"emulate": first}, 1: slow}, timeout_s=LIMIT_S)
    assert all("conditions=late={}, slow={1: 2.0}" in error for error in errors)


def test_conditions_without_a_network_are_refused_by_init() -> None:
    odd = {0: {"conditions": hm.Conditions(slow={0: 2.0})}}
    assert "pass emulate=topology" in hm.launch(work.init_with, 1, odd, timeout_s=LIMIT_S)[0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"timeout_s": 5.0}, "timeout_s=60, and is now asked for timeout_s=5"),
        ({"keep_inputs": False}, "keep_inputs=True, and is now asked for keep_inputs=False"),
        ({"adapt": "none"}, "adapt=late,slow, and is now asked for adapt=none"),
        ({"emulate": hm.topologies.ring(2, latency_s=1e-6, bandwidth=1e9)}, "asked for emulate=<Topology"),
    ],
    ids=["timeout_s", "keep_inputs", "adapt", "emulate"],
)
def test_a_second_init_with_other_options_is_refused(options: dict, said: str) -> None:
    for error in hm.launch(work.init_again, 2, options, timeout_s=LIMIT_S):
        assert said in error


def test_a_slow_port_makes_nobody_late() -> None:
    network = hm.topologies.switch(4, latency_s=50e-6, bandwidth=20e6)
    for persistent, _, own_s in hm.launch(
        work.own_times_with_a_slow_port, 4, 2, emulate=network, timeout_s=LIMIT_S
    ):
        assert persistent is None
        assert own_s[2] < 5e-3


def test_time_in_another_communicators_operation_is_nobodys_own() -> None:
    for own_s, late_s in hm.launch(work.own_time_of_two_communicators, 3, 2, timeout_s=LIMIT_S):
        assert late_s > 0.8 * work.PERSISTENT_DELAY_S
        assert own_s < 0.5 * work.PERSISTENT_DELAY_S


def test_links_that_are_not_there_cannot_be_degraded() -> None:
    network = hm.topologies.switch(4, latency_s=50e-6, bandwidth=20e6)
    for seen in hm.launch(work.degrade_mistakes, 4, emulate=network, timeout_s=LIMIT_S):
        assert seen == ["ArgumentError"] * 4
