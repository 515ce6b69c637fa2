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
        ("broadcast: root", "invalid root rank"),
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
        assert words in gloos[call] or "no tensor arguments" in gloos[call]


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
