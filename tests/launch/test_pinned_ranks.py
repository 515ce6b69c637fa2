# SPDX-License-Identifier: Apache-2.0
"""HEMIOLA_PIN: ranks share the cores evenly, and nobody's own choice is overruled."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import hemiola as hm
from hemiola.errors import ArgumentError
from hemiola.launch.cores import share_of

LIMIT_S = 60


def allowed() -> set[int]:
    return os.sched_getaffinity(0)


@pytest.mark.parametrize("rank_count", range(1, 20))
def test_shares_cover_the_cores_evenly(rank_count: int) -> None:
    cores = [0, 1, 2, 5, 6, 8, 9]
    shares = [share_of(cores, rank, rank_count) for rank in range(rank_count)]
    used = [core for share in shares for core in share]
    assert set(used) == set(cores[: max(rank_count, 7)])
    sizes, loads = {len(share) for share in shares}, {used.count(core) for core in cores}
    assert min(sizes) >= 1
    assert max(sizes) - min(sizes) <= 1
    assert max(loads) - min(loads) <= 1


def test_ranks_that_share_cores_evenly_are_pinned_and_others_when_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cores = sorted(allowed())
    if len(cores) != os.cpu_count():
        pytest.skip(f"this process may use {len(cores)} of {os.cpu_count()} cores")
    monkeypatch.delenv("HEMIOLA_PIN", raising=False)
    two_each = 2 * len(cores)
    for ranks in (len(cores), len(cores) + 1) if len(cores) > 1 else (1,):
        assert hm.launch(allowed, ranks, timeout_s=LIMIT_S) == [set(cores)] * ranks
    in_turn = [{cores[rank % len(cores)]} for rank in range(two_each)]
    assert hm.launch(allowed, two_each, timeout_s=LIMIT_S) == in_turn
    monkeypatch.setenv("HEMIOLA_PIN", "off")
    assert hm.launch(allowed, two_each, timeout_s=LIMIT_S) == [set(cores)] * two_each
    monkeypatch.setenv("HEMIOLA_PIN", "on")
    ranks = len(cores) + 1
    expected = [{cores[rank % len(cores)]} for rank in range(ranks)]
    assert hm.launch(allowed, ranks, timeout_s=LIMIT_S) == expected
    words = [sys.executable, "-m", "hemiola", "launch", "-n", str(ranks), sys.executable, "-c"]
    program = "import os; print(os.environ['HEMIOLA_RANK'], *os.sched_getaffinity(0))"
    done = subprocess.run([*words, program], capture_output=True, text=True, timeout=LIMIT_S, check=True)
    seen = {tuple(map(int, line.split()[-2:])) for line in done.stdout.replace("]", "").splitlines()}
    assert seen == {(rank, core) for rank, (core,) in enumerate(map(tuple, expected))}


def test_a_choice_of_cores_by_somebody_else_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    before = allowed()
    if os.cpu_count() == 1:
        pytest.skip("one core: there is nothing to choose")
    monkeypatch.setenv("HEMIOLA_PIN", "on")
    chosen = {max(before)}
    os.sched_setaffinity(0, chosen)
    try:
        assert hm.launch(allowed, 2, timeout_s=LIMIT_S) == [chosen] * 2
    finally:
        os.sched_setaffinity(0, before)


def test_another_word_is_refused_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEMIOLA_PIN", "maybe")
    with pytest.raises(ArgumentError, match=r"HEMIOLA_PIN: expected auto, on or off, found 'maybe'"):
        hm.launch(allowed, 2, timeout_s=LIMIT_S)
