# SPDX-License-Identifier: Apache-2.0
"""Communicators of processes that have nothing in common but a store or a name."""

from __future__ import annotations

import secrets
from pathlib import Path

import join_ranks as work
import pytest

import hemiola as hm

LIMIT_S = 90
#: Has ranks of one host meet and talk as those of several do.
AS_BETWEEN_HOSTS = {"HEMIOLA_WIRE": "tcp", "HEMIOLA_INTERFACE": "127.0.0.0/8"}


def test_a_process_can_join_several_communicators_by_name_each_with_ranks_of_its_own() -> None:
    found = hm.launch(work.two_by_name, 3, secrets.token_hex(4), timeout_s=LIMIT_S)
    assert found == [[6.0] * 5] * 3


@pytest.mark.parametrize("way", [{}, AS_BETWEEN_HOSTS], ids=["one host", "by address"])
def test_processes_that_share_a_store_meet(
    tmp_path: Path, way: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in way.items():
        monkeypatch.setenv(name, value)
    assert hm.launch(work.at_a_store, 3, str(tmp_path), timeout_s=LIMIT_S) == [(6.0, 6.0)] * 3


@pytest.mark.parametrize(("way", "times"), [({}, 50), (AS_BETWEEN_HOSTS, 12)], ids=["one host", "by address"])
def test_opening_and_closing_again_and_again_leaves_nothing_behind(
    tmp_path: Path, way: dict[str, str], times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in way.items():
        monkeypatch.setenv(name, value)
    for early, late in hm.launch(work.again_and_again, 2, str(tmp_path), times, timeout_s=LIMIT_S):
        assert late["descriptors"] <= early["descriptors"]
        assert late["threads"] <= early["threads"]
        assert late["mappings"] <= early["mappings"] + 8  # the allocator's own come and go


def test_ranks_that_say_different_numbers_of_ranks_are_all_told(tmp_path: Path) -> None:
    for kind, message in hm.launch(work.different_counts, 3, str(tmp_path), timeout_s=LIMIT_S):
        assert kind == "MismatchError"
        assert "rank 0 joins 2 ranks" in message
        assert "joins 3" in message


def test_ranks_that_pass_different_options_are_all_told(tmp_path: Path) -> None:
    for kind, message in hm.launch(work.different_options, 3, str(tmp_path), timeout_s=LIMIT_S):
        assert kind == "MismatchError"
        assert "join: rank 0 passed keep_inputs=False, rank 1 keep_inputs=True" in message or (
            "join: rank 0 passed keep_inputs=True, rank 1 keep_inputs=False" in message
        )


def test_who_does_not_come_is_named_and_the_store_serves_on(tmp_path: Path) -> None:
    seen = hm.launch(work.one_does_not_come, 3, str(tmp_path), timeout_s=LIMIT_S)
    (zero, total_of_zero), (one, total_of_one), _ = seen
    assert zero[0] == one[0] == "TimeoutError"
    assert "rank 2 has not come to the store within 2 s" in zero[1]
    assert "rank 0 has not come to the store within 2 s; perhaps it waits for others itself" in one[1]
    assert total_of_zero == total_of_one == 3.0


def test_a_place_that_there_is_not_is_refused() -> None:
    (seen,) = hm.launch(work.wrong_places, 1, "nobody", timeout_s=LIMIT_S)
    assert [kind for kind, _ in seen] == ["ArgumentError"] * 3
    assert "found rank 2 and rank_count 2" in seen[0][1]


def test_a_name_is_not_enough_where_addresses_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEMIOLA_WIRE", "tcp")
    with pytest.raises(hm.ArgumentError, match="let them meet at a store"):
        hm.Communicator.join(0, 1, "nobody")
