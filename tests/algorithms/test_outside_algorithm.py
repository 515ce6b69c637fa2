# SPDX-License-Identifier: Apache-2.0
"""An algorithm from outside the package, registered by one call: listed, planned, drawn and run as any other."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import one_shot
import pytest

import hemiola as hm
from hemiola.algorithms import registry
from hemiola.cli import main
from hemiola.errors import ArgumentError

NAME = one_shot.ONE_SHOT.name
NETWORK = hm.topologies.switch(4, latency_s=10e-6, bandwidth=1e9)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register it, for one test."""
    monkeypatch.setattr(registry, "ENTRIES", dict(registry.ENTRIES))
    hm.algorithms.register(one_shot.ONE_SHOT)


@pytest.mark.usefixtures("registered")
def test_it_is_listed_with_the_others() -> None:
    assert NAME in hm.algorithms.names("all_reduce")
    assert hm.algorithms.get(NAME) is one_shot.ONE_SHOT
    assert hm.algorithms.get(NAME).is_valid(4)
    assert not hm.algorithms.get(NAME).is_valid(1)
    assert hm.verify(hm.algorithms.get(NAME).generate(5)) == []


@pytest.mark.usefixtures("registered")
def test_the_planner_takes_it_where_its_cost_is_least() -> None:
    # Derivation: α + 3·N·β, against 2α + 2·(3/4)·N·β in two steps: the first is less below N = α/(1.5 β), 6.7 kB here.
    small, large = (hm.plan(NETWORK, "all_reduce", nbytes) for nbytes in (4096, 16384))
    assert small.name == NAME
    assert small.seconds == pytest.approx(10e-6 + 3 * 4096 / 1e9)
    assert NAME in small.explain()
    assert large.name != NAME
    assert NAME in {other.name for other in large.alternatives}


@pytest.mark.usefixtures("registered")
def test_commands_know_it_by_name(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    cluster = tmp_path / "cluster.yaml"
    NETWORK.save(cluster)
    assert main(["plan", "all_reduce", str(cluster), "4KiB"]) == 0
    assert NAME in capfd.readouterr().out
    assert main(["simulate", NAME, str(cluster), "4KiB"]) == 0
    assert main(["verify", NAME, "--ranks", "6"]) == 0
    assert main(["view", NAME, "--ranks", "4"]) == 0
    assert "12 transfers" in capfd.readouterr().out
    assert main(["simulate", "all_reduce_one_shoot", str(cluster), "4KiB"]) == 2
    assert f"did you mean {NAME}" in capfd.readouterr().err


def test_ranks_run_it_by_name_and_by_plan() -> None:
    found = hm.launch(one_shot.run_it, 3, emulate=hm.topologies.switch(3, latency_s=1e-3, bandwidth=1e9))
    assert found == [([6.0] * 3, NAME)] * 3


@pytest.mark.usefixtures("registered")
def test_a_name_is_given_once_and_says_the_collective() -> None:
    with pytest.raises(ArgumentError, match="already"):
        hm.algorithms.register(one_shot.ONE_SHOT)
    for change, said in (
        ({"name": "one_shot"}, "all_reduce_"),
        ({"name": "all_reduce_x", "needs": "luck"}, "luck"),
    ):
        with pytest.raises(ArgumentError, match=said):
            hm.algorithms.register(dataclasses.replace(one_shot.ONE_SHOT, **change))


def test_it_is_gone_after_these_tests() -> None:
    with pytest.raises(ArgumentError, match=NAME):
        hm.algorithms.get(NAME)
