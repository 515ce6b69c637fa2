# SPDX-License-Identifier: Apache-2.0
"""Ranks bring their states to that of rank 0, and move only what differs."""

from __future__ import annotations

import heal_ranks as work
import numpy as np
import pytest

import hemiola as hm
from hemiola.communicator.healing import PART_BYTES, _moves

LIMIT_S = 90
AS_BETWEEN_HOSTS = {"HEMIOLA_WIRE": "tcp", "HEMIOLA_INTERFACE": "127.0.0.0/8"}


@pytest.mark.parametrize("way", [{}, AS_BETWEEN_HOSTS], ids=["one host", "tcp"])
@pytest.mark.parametrize(
    ("ranks", "behind"), [(1, []), (2, []), (2, [1]), (3, [2]), (4, [2, 3]), (4, [1, 2, 3])]
)
def test_ranks_that_are_behind_get_what_differs_and_no_more(
    ranks: int, behind: list[int], way: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in way.items():
        monkeypatch.setenv(name, value)
    parts = 5
    half = PART_BYTES * 3  # the part in the middle differs in its second half
    for rank, (came, is_right) in enumerate(hm.launch(work.healed, ranks, behind, parts, timeout_s=LIMIT_S)):
        assert is_right
        assert came == (half + 8 if rank in behind else 0)


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("size", "rank 0 has '1' of 3 int32, rank 1 '1' of 4 int32"),
        ("dtype", "rank 0 has '0' of 10 float64, rank 1 '0' of 10 float32"),
        ("count", "rank 0 has 2 arrays, rank 1 1"),
    ],
)
def test_states_that_are_not_alike_are_named_on_all_ranks(what: str, words: str) -> None:
    for kind, message in hm.launch(work.errors, 3, what, timeout_s=LIMIT_S):
        assert kind == "MismatchError"
        assert words in message


@pytest.mark.parametrize("what", ["strings", "gaps", "read-only", "no array"])
def test_an_array_that_cannot_be_used_is_refused_where_it_is(what: str) -> None:
    seen = hm.launch(work.errors, 3, what, timeout_s=LIMIT_S)
    assert [kind for kind, _ in seen] == ["MismatchError", "ArgumentError", "MismatchError"]
    assert "heal: state " in seen[1][1]


def test_a_state_that_is_written_to_meanwhile_is_an_error_on_all_ranks() -> None:
    for kind, message in hm.launch(work.changed, 2, timeout_s=LIMIT_S):
        assert kind == "MismatchError"
        assert "rank 0 wrote to its state" in message


def test_each_part_comes_from_the_nearest_rank_and_sources_share_the_work() -> None:
    has = np.ones((6, 8), bool)
    has[5] = False
    moves = _moves(has, [0, 0, 1, 1, 2, 2])
    assert {move.src for move in moves} == {4}  # the one on its host
    moves = _moves(has, [0, 0, 1, 1, 2, 3])
    assert sorted(np.bincount([move.src for move in moves], minlength=5)) == [1, 1, 2, 2, 2]
    assert [move.part for move in moves] == list(range(8))
