# SPDX-License-Identifier: Apache-2.0
"""Callbacks of futures: they may wait for whatever they like, and what they issue has one order on all ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from forked import run

RANKS = 3
FUNCTIONS = ["waiting", "ordered", "other_order", "resized", "unmatched"]
HOOK_FUNCTIONS = {"issuing_hooks_with_one_bucket": 2, "hooks_with_many_buckets": 19}


@pytest.fixture(scope="module")
def found(way: str) -> dict[str, list[Any]]:
    return run("callback_ranks", FUNCTIONS, RANKS)


def test_a_callback_may_wait_in_every_way(found: dict[str, list[Any]]) -> None:
    for results in found["waiting"]:
        assert results == dict.fromkeys(results, 2.0)


def test_collectives_of_callbacks_meet_their_like_on_all_ranks(found: dict[str, list[Any]]) -> None:
    for wrong in found["ordered"]:
        assert wrong == [0.0] * 120


def test_callbacks_that_issue_what_others_do_not_raise(found: dict[str, list[Any]]) -> None:
    assert [said[0].partition(":")[0] for said in found["other_order"]] == ["MismatchError"] * RANKS
    assert found["unmatched"][1].startswith("RuntimeError:"), found["unmatched"]
    assert "TimeoutError" in found["unmatched"][1]


def test_a_tensor_can_be_resized_afterwards(found: dict[str, list[Any]]) -> None:
    assert found["resized"] == [30] * RANKS


@pytest.fixture(scope="module")
def by_gloo() -> dict[str, list[Any]]:
    return run("callback_ranks", [*HOOK_FUNCTIONS], 2, "gloo")


@pytest.fixture(scope="module")
def trained(way: str) -> dict[str, list[Any]]:
    return run("callback_ranks", [*HOOK_FUNCTIONS, "zero_hooks"], 2)


def weights(of: list[bytes]) -> np.ndarray[Any, Any]:
    return np.concatenate([np.frombuffer(one, np.float32) for one in of])


#: Hooks that keep ranks' weights apart on purpose, or for a while.
_APART = ("noop", "post_localSGD")


@pytest.mark.long
@pytest.mark.parametrize("function", HOOK_FUNCTIONS)
def test_every_hook_of_pytorchs_trains_as_on_gloo(
    trained: dict[str, list[Any]], by_gloo: dict[str, list[Any]], function: str, way: str
) -> None:
    for rank in range(2):
        assert len(trained[function][rank]) == HOOK_FUNCTIONS[function]
        for name, seen in trained[function][rank].items():
            if name not in _APART and not isinstance(seen, str):
                assert seen[1] == trained[function][0][name][1], f"{name}: weights differ between ranks"
            expected = by_gloo[function][rank].get(name)
            if expected is None:  # nothing to compare with: see callback_ranks
                continue
            if isinstance(expected, str):
                assert seen == expected, name
                continue
            np.testing.assert_allclose(seen[0], expected[0], rtol=1e-4, err_msg=name)
            np.testing.assert_allclose(
                weights(seen[1]), weights(expected[1]), rtol=1e-3, atol=1e-4, err_msg=name
            )


@pytest.mark.long
def test_hooks_that_issue_broadcasts_in_callbacks_leave_equal_weights(trained: dict[str, list[Any]]) -> None:
    one, other = trained["zero_hooks"]
    assert one == other
    np.testing.assert_allclose(weights(one["after"]), weights(one["interleaved"]), rtol=1e-4, atol=1e-5)
