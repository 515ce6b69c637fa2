# SPDX-License-Identifier: Apache-2.0
"""Whom a launcher blames, of ranks that say whom they blame."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from hemiola.errors import Cause
from hemiola.launch import agent, programs
from hemiola.launch.culprit import Failure, Outcome, culprit_of

BLAME = Path(__file__).resolve().parents[2] / "benchmarks" / "blame.py"


def test_the_blamed_rank_is_the_culprit_though_it_ends_last() -> None:
    others = [Failure(rank, 1.0 + rank, Cause(5, "has died", 0.5), 1) for rank in (0, 1, 2)]
    assert culprit_of([*others, Failure(5, 9.0, None, 7)]) == 5


def test_blame_is_followed_to_its_end() -> None:
    chain = [Failure(0, 1.0, Cause(1, "left", 1.0), 1), Failure(1, 2.0, Cause(2, "did not come", 0.5), 1)]
    assert culprit_of(chain) == 2


def test_of_two_causes_the_earlier_one_counts() -> None:
    found = [Failure(0, 1.0, Cause(3, "has died", 2.0), 1), Failure(1, 5.0, Cause(2, "has died", 1.0), 1)]
    assert culprit_of(found) == 2


def test_of_ranks_that_disagree_the_one_that_differs_from_most_is_the_culprit() -> None:
    others = [Failure(rank, 2.0, Cause(5, "passed float64[7]", 2.0), 1) for rank in range(5)]
    assert culprit_of([Failure(5, 1.0, Cause(0, "passed float64[10]", 1.0), 1), *others]) == 5


def test_without_any_word_the_first_that_ended_is_the_culprit() -> None:
    assert culprit_of([Failure(3, 2.0, None, 1), Failure(2, 1.0, None, 4)]) == 2


@pytest.mark.parametrize(("codes", "code"), [({0: 1, 5: 7}, 7), ({0: 1, 5: 0}, 1), ({0: 1}, 1)])
def test_the_exit_code_is_the_culprits_unless_it_ended_well(codes: dict[int, int], code: int) -> None:
    outcome = Outcome([Failure(0, 1.0, Cause(5, "has left", 0.5), 1)], codes, dict.fromkeys(codes, "a"))
    assert (outcome.culprit, outcome.exit_code) == (5, code)
    assert Outcome.unpacked(outcome.packed()) == outcome


@pytest.fixture(scope="module")
def blame() -> ModuleType:
    spec = importlib.util.spec_from_file_location("blame", BLAME)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "family", ["absent", "mistaken", "grouped", "launched", "called", "together", "together_launched"]
)
def test_every_rank_and_launcher_names_the_culprit(blame: ModuleType, family: str) -> None:
    assert blame.wrong_runs(family, 5, seed=1000) == []


@pytest.mark.parametrize(
    ("failed", "said", "wait_s"),
    [
        ([], {}, math.inf),
        ([0], {}, 1.0),
        ([0], {0: Cause(5, "has left", 0.5)}, 1.0),
        ([0, 2], {0: Cause(2, "has left", 0.5), 2: Cause(2, "raised", 0.5)}, 1.0),
        ([0], {0: Cause(2, "has left", 0.5), 2: Cause(2, "raised", 0.5)}, 10.0),
    ],
    ids=["nobody failed", "no word", "culprit elsewhere", "culprit has ended", "culprit is ending"],
)
def test_ranks_are_ended_once_the_culprit_has_ended_or_had_long_enough(
    failed: list[int], said: dict[int, Cause], wait_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(agent.time, "monotonic", lambda: now[0])
    ranks = agent._RanksOfThisHost(SimpleNamespace(first_rank=0), SimpleNamespace(said=lambda: said))  # type: ignore[arg-type]
    ranks.failures += [Failure(rank, 100.0, said.get(rank), 1) for rank in failed]
    for waited_s in (0.0, 0.9, 1.1, 9.9, 10.1):
        now[0] = 100.0 + waited_s
        assert ranks.has_seen_enough() == (waited_s > wait_s)


@pytest.mark.parametrize(
    ("ended", "first_code", "wait_s"),
    [
        ([], 0, math.inf),
        ([(0, False)], 0, math.inf),
        ([(137, True)], 0, math.inf),
        ([(1, False)], 1, 2.0),
        ([(0, False), (7, False), (1, False)], 7, 2.0),
    ],
    ids=["none ended", "ended well", "was asked to end", "failed", "one of several"],
)
def test_other_hosts_are_ended_after_the_first_that_failed_by_itself_and_after_no_other(
    ended: list[tuple[int, bool]], first_code: int, wait_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(programs.time, "monotonic", lambda: now[0])
    hosts = programs._Hosts()
    for code, was_asked in ended:
        hosts.heed(SimpleNamespace(), code, was_asked=was_asked)  # type: ignore[arg-type]
    assert (hosts.first_code or 0) == first_code
    for waited_s in (0.0, 1.9, 2.1):
        now[0] = 100.0 + waited_s
        assert hosts.has_seen_enough() == (waited_s > wait_s)
