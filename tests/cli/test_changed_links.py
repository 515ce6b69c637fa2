# SPDX-License-Identifier: Apache-2.0
"""Slow and missing links, as they are said on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

import hemiola as hm


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    path = tmp_path / "ring.yaml"
    hm.topologies.ring(4, latency_s=0, bandwidth=1e9).save(path)
    return path


def test_a_slow_link_slows_what_crosses_it_both_ways(hemiola, ring: Path) -> None:
    # A ring of n ranks takes 2 (n-1) steps of 1/n: 1.5 buffers of 4 MB at 1 GB/s, and four times that over the link.
    words = ["simulate", "all_reduce_ring", ring, "4MB", "--json"]
    assert hemiola(*words).data["seconds"] == pytest.approx(6e-3)
    for link in ("1-2=4", "2-1=4"):
        assert hemiola(*words, "--slow-link", link).data["seconds"] == pytest.approx(24e-3)


def test_a_plan_without_a_link_goes_the_other_way(hemiola, ring: Path, tmp_path: Path) -> None:
    chosen = tmp_path / "chosen.sched"
    ran = hemiola("plan", "all_gather", ring, "4MB", "--without-link", "0-1", "--save", chosen)
    assert ran.code == 0, ran
    line = hm.Topology.load(ring).without_links([(0, 1)])
    assert hm.simulate(hm.Schedule.load(chosen), line, 4_000_000).seconds > 0
    assert hemiola("synthesize", "all_gather", ring, "--without-link", "0-1", "--json").code == 0


def test_convert_writes_the_degraded_network(hemiola, ring: Path, tmp_path: Path) -> None:
    target = tmp_path / "slow.yaml"
    words = ["--degrade", "3-0=4,1-2=2", "--without-link", "2-3"]
    assert hemiola("topology", "convert", ring, target, *words).code == 0
    found = {(src, dst): bandwidth for src, dst, _, bandwidth, _ in hm.Topology.load(target).links.tolist()}
    expected = {(0, 1): 1e9, (1, 2): 5e8, (3, 0): 2.5e8}
    assert found == {**expected, **{(dst, src): bandwidth for (src, dst), bandwidth in expected.items()}}


def test_a_run_emulates_the_slow_link(hemiola, ring: Path) -> None:
    ran = hemiola(
        "run", "broadcast", "64K", "--emulate", ring, "--slow-link", "0-1=2", "--repeats", 1, "--json"
    )
    assert ran.code == 0, ran
    assert ran.data["sizes"][0]["bound_s"] > 0


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--slow-link", "0-2=4"], "there is no link 0 -> 2"),
        (["--without-link", "0-2"], "there is no link 0 -> 2"),
        (["--slow-link", "0-1"], "expected link=factor such as '3-7=4'"),
        (["--slow-link", "01=4"], "expected the two ends of a link such as '3-7'"),
        (["--slow-link", "0-1=0.5"], "expected a factor of at least 1"),
        (["--slow-link", "0-1=2,1-0=3"], "is given twice"),
        (["--slow-link", "0-x=2"], "has no vertex 'x'; its vertices have no names: say numbers"),
        (["--without-link", ""], "expected the two ends of a link"),
    ],
)
def test_a_mistake_names_the_link(hemiola, ring: Path, words: list[str], reason: str) -> None:
    ran = hemiola("plan", "all_reduce", ring, "1MB", *words)
    assert ran.is_users_mistake(), ran
    assert reason in ran.err


def test_links_of_this_machine_cannot_be_slowed(hemiola) -> None:
    ran = hemiola("bench", "all_reduce", "--slow-link", "0-1=2")
    assert ran.is_users_mistake(), ran
    assert "--emulate" in ran.err
