# SPDX-License-Identifier: Apache-2.0
"""Collectives over UCX (HEMIOLA_WIRE=ucx), between ranks of this host: by UCX's TCP and by its shared memory."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
from rank_cases import Case, run_cases
from ucx_ranks import (
    cases_with_the_packaged_ucx,
    error_of_init,
    killed_in_the_middle,
    mistake_and_afterwards,
)

import hemiola as hm
from hemiola import environment
from hemiola.doctor import examine

RANKS = 3
KINDS = ("all_reduce", "reduce_scatter", "all_gather", "broadcast", "scatter", "all_to_all")
CASES = [
    Case(kind, block, root=block % RANKS, in_place=in_place)
    for kind in KINDS
    for block in (0, 1, 1000, 70_001, 400_000)
    for in_place in (False, True)
]


@pytest.fixture(scope="module")
def needs_ucx() -> None:
    """Leave out what needs UCX where there is none."""
    (ucx,) = [finding for finding in examine() if finding.what == "UCX"]
    if ucx.state == "missing":
        pytest.skip(ucx.found)


@pytest.fixture(params=["tcp", "shm"])
def transports(request: pytest.FixtureRequest, needs_ucx: None, monkeypatch: pytest.MonkeyPatch) -> str:
    """Have ranks that are launched meanwhile talk by these."""
    monkeypatch.setenv("HEMIOLA_WIRE", "ucx")
    monkeypatch.setenv("UCX_TLS", request.param)
    return str(request.param)


def test_every_collective_is_right(transports: str) -> None:
    assert [failure for found in hm.launch(run_cases, RANKS, CASES, timeout_s=120) for failure in found] == []


@pytest.mark.skipif(find_spec("libucx") is None, reason="PyPI's libucx-cu12 is not installed")
def test_a_ucx_that_the_process_has_loaded_is_used(transports: str) -> None:
    (packaged,) = environment.ucx_libraries()
    for path, failures in hm.launch(cases_with_the_packaged_ucx, RANKS, CASES, timeout_s=120):
        assert failures == []
        assert Path(path).parent == Path(packaged).parent  # it has the same file under several names


def test_a_mistake_of_one_rank_is_told_on_all(transports: str) -> None:
    for name, text, last in hm.launch(mistake_and_afterwards, RANKS, timeout_s=120):
        assert name == "MismatchError"
        assert "rank 1" in text
        assert last == RANKS


def test_survivors_of_a_kill_name_the_dead_and_keep_their_inputs(transports: str, tmp_path: Path) -> None:
    victim = 1
    seen = hm.launch(
        killed_in_the_middle, RANKS, victim, str(tmp_path / "death"), timeout_s=120, on_failure="continue"
    )
    for rank, found in enumerate(seen):
        if rank != victim:
            name, text, intact, took_s = found
            assert name == "LostRankError"
            assert f"rank {victim}" in text
            assert intact
            assert took_s < 30


def test_without_ucx_every_rank_says_what_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEMIOLA_WIRE", "ucx")
    (tmp_path / "libucp.so.0").write_text("no library")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    for name, text in hm.launch(error_of_init, RANKS, timeout_s=120):
        assert name == "ArgumentError"
        assert "libucp.so.0" in text
        assert "pip install libucx-cu12" in text
