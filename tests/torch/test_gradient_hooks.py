# SPDX-License-Identifier: Apache-2.0
"""DDP's communication hooks: pruned gradients lose nothing for good, and bfloat16 ones are added as float32."""

from __future__ import annotations

from typing import Any

import pytest
from forked import run

RANKS = 4
FUNCTIONS = [
    "pruned",
    "dense",
    "gone_on_with",
    "refused",
    "rounded",
    "disagreeing",
    "quantized",
    "not_finite",
]


@pytest.fixture(scope="module")
def found(way: str) -> dict[str, list[Any]]:
    """What every function has returned, by rank; each has compared its own results."""
    return run("hook_ranks", FUNCTIONS, RANKS)


def test_pruned_gradients_send_a_tenth_of_each_parameter_and_at_least_one_element(
    found: dict[str, list[Any]],
) -> None:
    assert found["pruned"] == [[5, 4 + 1 + 20 + 1]] * RANKS


def test_what_cannot_be_used_is_refused_with_what_was_expected(found: dict[str, list[Any]]) -> None:
    for density, state, group in found["refused"]:
        assert density.startswith("ArgumentError: density: expected a share in (0, 1]")
        assert state.startswith("ArgumentError: state: expected a parameter 'parts.0' of shape [2]")
        assert "expected the backend 'hemiola' for the CPU, found 'gloo'" in group


def test_bfloat16_gradients_are_added_as_float32_and_rounded_once(found: dict[str, list[Any]]) -> None:
    # Given 256 and three times 1. Derivation: float32 259 / 4 = 64.75, halfway between 64.5 and 65, to even. Added in
    # bfloat16, 256 + 1 = 256, three times, and the average is 64.
    assert found["rounded"] == [65.0] * RANKS


def test_an_error_of_the_hooks_all_reduce_comes_out_of_backward(found: dict[str, list[Any]]) -> None:
    for message in found["disagreeing"]:
        assert "MismatchError" in message
        assert "float32[3]" in message


def test_quantized_gradients_owe_what_they_rounded_and_are_plain_between_processes(
    found: dict[str, list[Any]],
) -> None:
    for plain, has_rounded, drift, after_checkpoint in found["quantized"]:
        assert plain == 0
        assert has_rounded
        # Given sums of whole numbers of at most 5 * 64. Derivation: five roundings of float32 a step. Expect 2^-24 of
        # them each, at most; a checkpoint after which buckets are laid out anew rounds anew, by a step of 64 / 127.
        assert drift < 320 * 5 * 5 * 2**-24
        assert after_checkpoint < 2 * 64 / 127


def test_an_infinity_makes_its_block_of_a_bucket_nan_and_the_next_pass_is_clean(
    found: dict[str, list[Any]],
) -> None:
    # 2,048 elements of 4 ranks: each owns two blocks.
    assert found["not_finite"] == [[[False] + [True] * 7, [True] * 8]] * RANKS
