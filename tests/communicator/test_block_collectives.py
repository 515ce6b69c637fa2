"""Collectives with an array of any size for each rank."""

from __future__ import annotations

import block_ranks as work

import hemiola as hm

LIMIT_S = 90


def test_blocks_of_any_sizes_and_types_arrive_where_they_belong_and_nowhere_else() -> None:
    assert hm.launch(work.exchanged, 3, timeout_s=LIMIT_S) == [[], [], []]


def test_ranks_that_disagree_about_blocks_all_hear_who_and_what_before_anything_moves() -> None:
    for rank, found in enumerate(hm.launch(work.disagreeing, 3, timeout_s=LIMIT_S)):
        assert found.pop("afterwards") == ("", "")
        for name, (kind, text) in found.items():
            is_own = rank == 1 and name in ("count", "array", "read-only", "a number")
            assert kind == ("ArgumentError" if is_own else "MismatchError"), (name, text)
            assert "rank 1" in text or is_own
        assert "rank 0 gives rank 1 2 elements, rank 1 expects 1 of rank 0" in found["size"][1]
        assert "float64" in found["dtype"][1]
        assert "int64" in found["dtype"][1]
