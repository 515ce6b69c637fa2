# SPDX-License-Identifier: Apache-2.0
"""Calls with odd arguments come to what gloo makes of them, or are refused by a RuntimeError, as gloo's are."""

from __future__ import annotations

from typing import Any

import pytest
from forked import run

RANKS = 2


@pytest.fixture(scope="module")
def by_gloo() -> list[dict[str, Any]]:
    return run("odd_call_ranks", ["odd_calls"], RANKS, "gloo")["odd_calls"]


@pytest.fixture(scope="module")
def found(way: str) -> dict[str, list[Any]]:
    return run("odd_call_ranks", ["odd_calls", "views", "unlike_calls", "waited_too_short"], RANKS)


def is_refused(outcome: Any) -> bool:
    return isinstance(outcome, str) and outcome.startswith("refused")


def test_every_call_comes_to_what_gloo_makes_of_it(
    found: dict[str, list[Any]], by_gloo: list[dict[str, Any]]
) -> None:
    for own, gloos in zip(found["odd_calls"], by_gloo, strict=True):
        assert {name: is_refused(own[name]) for name in gloos} == {
            name: is_refused(outcome) for name, outcome in gloos.items()
        }
        assert {name: own[name] for name in gloos if not is_refused(own[name])} == {
            name: outcome for name, outcome in gloos.items() if not is_refused(outcome)
        }
        assert not [
            name for name, outcome in own.items() if isinstance(outcome, str) and not is_refused(outcome)
        ]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("all_reduce: none", "requires non-empty tensor list"),
        ("all_reduce: types", "invalid tensor type"),
        ("all_reduce: sizes", "invalid tensor size"),
        ("all_reduce: two, AVG", "AVG of several tensors"),
        ("all_reduce: dense and sparse", "invalid tensor layout at index 1"),
        ("all_reduce: sparse, sizes", "invalid tensor size"),
        ("all_reduce: sparse, MAX", "unsupported reduction operation"),
        ("coalesced: types", "tensors must all have the same type"),
        ("coalesced: sparse", "unsupported layout"),
        ("coalesced: dense and sparse", "invalid tensor layout at index"),
        ("broadcast: root", "invalid root rank"),
        ("all_gather: short", "invalid output tensor list"),
        ("all_gather: types", "invalid tensor type"),
        ("all_gather: sizes", "invalid tensor size"),
        ("gather: short", "Incorrect output list size 1. Output list size should be 2"),
        ("gather: types", "invalid tensor type"),
        ("scatter: short", "Incorrect input list size 1. Input list size should be 2"),
        ("scatter: sizes", "invalid tensor size"),
        ("all_gather coalesced: size", "invalid size of output tensor at index 0"),
        ("all_gather coalesced: type", "invalid tensor type at index 0"),
        ("broadcast: root's tensor", "invalid root tensor"),
        ("reduce: two", "requires a single-element tensor list"),
        ("all_gather: no output", "requires input/output tensor lists to have the same length"),
    ],
)
def test_a_refusal_says_what_gloos_says(
    found: dict[str, list[Any]], by_gloo: list[dict[str, Any]], call: str, words: str
) -> None:
    for own, gloos in zip(found["odd_calls"], by_gloo, strict=True):
        assert words in own[call]
        said = gloos.get(call, words)  # PyTorch's dispatcher may refuse before gloo can
        assert any(each in said for each in (words, "no tensor arguments", "Could not run"))


def test_views_whose_memory_holds_other_values_are_named(found: dict[str, list[Any]]) -> None:
    for neg, conj in found["views"]:
        assert "pass .resolve_neg() of it" in neg
        assert "pass .resolve_conj() of it" in conj


def test_an_all_reduce_against_a_coalesced_one_of_as_many_elements_is_noticed(
    found: dict[str, list[Any]],
) -> None:
    assert found["unlike_calls"] == ["MismatchError"] * RANKS


def test_a_wait_that_is_too_short_raises_what_pytorch_and_hemiola_call_a_timeout(
    found: dict[str, list[Any]],
) -> None:
    classes = found["waited_too_short"][0]
    assert classes[0] == "GroupTimeoutError"
    assert {"RuntimeError", "HemiolaError", "DistBackendError"} <= set(classes)
