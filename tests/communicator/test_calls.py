# SPDX-License-Identifier: Apache-2.0
"""Every kind of collective as it is called: what it returns, where mistakes show, and what its signature says."""

from __future__ import annotations

import inspect
from typing import Any

import call_ranks as work
import pytest

import hemiola as hm
from hemiola.communicator.calls import CallOptions, CustomOptions

LIMIT_S = 120
RANKS = 3
ODD = RANKS - 1  # the root of rooted calls, so that its arrays count in all of them
KINDS = list(work.TABLE)
MISTAKES = [(name, mistake) for name, kind in work.TABLE.items() for mistake in work.mistakes_of(kind)]

SAME, PART, WHOLE = (2 * RANKS, 3), (2, 3), (2 * RANKS * RANKS, 3)
#: By kind: the result's shape on the root, elsewhere, and whether it replaces `x`.
RESULTS: dict[str, tuple[Any, Any, bool]] = {
    "all_reduce": (SAME, SAME, True),
    "reduce": (SAME, None, True),
    "reduce_scatter": (PART, PART, False),
    "all_gather": (WHOLE, WHOLE, False),
    "gather": (WHOLE, None, False),
    "scatter": (PART, PART, False),
    "broadcast": (SAME, SAME, True),
    "all_to_all": (SAME, SAME, False),
    "custom": (SAME, SAME, True),
    "barrier": (None, None, False),
}


@pytest.fixture(scope="module")
def right() -> list[dict[str, dict[str, Any]]]:
    return hm.launch(work.every_kind, RANKS, timeout_s=LIMIT_S)


@pytest.fixture(scope="module")
def wrong() -> list[dict[tuple[str, str], work.Seen]]:
    return hm.launch(work.every_mistake, RANKS, ODD, True, timeout_s=LIMIT_S)


@pytest.fixture(scope="module")
def wrong_later() -> list[dict[tuple[str, str], work.Seen]]:
    return hm.launch(work.every_mistake, RANKS, ODD, False, timeout_s=LIMIT_S)


def test_the_table_has_a_row_for_every_collective() -> None:
    assert sorted(KINDS) == sorted(RESULTS)
    assert all(callable(getattr(hm.Communicator, name)) for name in KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_results_have_the_promised_shape_on_every_rank(kind: str, right: list[dict[str, Any]]) -> None:
    on_root, elsewhere, replaces_x = RESULTS[kind]
    for rank, found in enumerate(right):
        expected = on_root if rank == ODD else elsewhere
        plain = found[kind]["plain"]
        assert plain == expected if expected is None else plain[:2] == (expected, "int16")
        if kind != "barrier":
            assert found[kind]["returns x"] == (replaces_x and expected is not None)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "barrier"])
def test_out_gets_the_result_in_any_shape_and_is_returned(kind: str, right: list[dict[str, Any]]) -> None:
    for found in right:
        plain, out = found[kind]["plain"], found[kind]["out"]
        if plain is not None:
            assert out[2] == plain[2]
        assert found[kind]["returns out"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_handle_gives_what_the_blocking_call_returns(kind: str, right: list[dict[str, Any]]) -> None:
    for found in right:
        assert found[kind]["later"] == found[kind]["plain"]
        assert found[kind]["done"]


@pytest.mark.parametrize(("kind", "mistake"), MISTAKES)
def test_a_mistake_on_one_rank_reaches_all_others_in_the_same_operation(
    kind: str, mistake: str, wrong: list[dict[tuple[str, str], work.Seen]]
) -> None:
    _check(kind, mistake, wrong)


@pytest.mark.parametrize(("kind", "mistake"), MISTAKES)
def test_a_mistake_in_the_background_reaches_all_others_in_its_turn(
    kind: str, mistake: str, wrong_later: list[dict[tuple[str, str], work.Seen]]
) -> None:
    _check(kind, mistake, wrong_later)


def _check(kind: str, mistake: str, seen: list[dict[tuple[str, str], work.Seen]]) -> None:
    error, complaint, operations = seen[ODD][kind, mistake]
    assert (error, operations) == ("ArgumentError", 1)
    for rank in set(range(RANKS)) - {ODD}:
        error, text, operations = seen[rank][kind, mistake]
        assert (error, operations) == ("MismatchError", 1)
        assert f"rank {ODD}" in text
        assert complaint[:80] in text


@pytest.mark.parametrize("kind", KINDS)
def test_a_collective_is_started_with_what_it_is_called_with(kind: str) -> None:
    blocking = inspect.signature(getattr(hm.Communicator, kind)).parameters
    started = inspect.signature(getattr(hm.Communicator, f"start_{kind}")).parameters
    by_place = [one for one in blocking.values() if one.kind is one.POSITIONAL_OR_KEYWORD]
    assert [one for one in started.values() if one.kind is one.POSITIONAL_OR_KEYWORD] == by_place
    options = {name for name, one in blocking.items() if one.kind is one.KEYWORD_ONLY}
    named = {name for name, one in started.items() if one.kind is one.KEYWORD_ONLY}
    if kind != "barrier":
        named = set((CustomOptions if kind == "custom" else CallOptions).__annotations__)
    assert named == options


@pytest.mark.parametrize("kind", KINDS)
def test_a_signature_is_full_and_its_docstring_has_all_of_it(kind: str) -> None:
    method = getattr(hm.Communicator, kind)
    signature = inspect.signature(method)
    expected = {"self", "timeout_s"}
    if kind != "barrier":
        expected |= {"x", "schedule", "sparse", "unchecked", "out"}
    if work.TABLE[kind].has_root:
        expected.add("root")
    if kind in work.REDUCING:
        expected.add("op")
    assert set(signature.parameters) == expected
    text = inspect.getdoc(method) or ""
    for name in expected - {"self"}:
        assert f"\n{name} : " in text, name
    for section in ("Parameters\n-", "Returns\n-", "Raises\n-"):
        assert section in text, section
