# SPDX-License-Identifier: Apache-2.0
"""Data of which a share is not zero, on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hemiola as hm


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.yaml"
    hm.topologies.switch(4, latency_s=1e-6, bandwidth=1e8).save(str(path))
    return path


def test_plan_and_simulate_take_a_density(hemiola: Callable[..., Any], cluster: Path) -> None:
    planned = hemiola("plan", "all_reduce", cluster, "4MiB", "--density", "1%", "--json")
    assert planned.data["density"] == 0.01
    assert "all-gather: of 0.0394 nonzero" in planned.data["explanation"]
    ring = ("simulate", "all_gather_ring", cluster, "4MiB", "--json")
    assert hemiola(*ring, "--density", "0.01").data["seconds"] < hemiola(*ring).data["seconds"] / 10


@pytest.mark.parametrize("density", ["0", "101%", "-1", "some", "nan"])
def test_a_density_that_cannot_be_is_a_users_mistake(
    hemiola: Callable[..., Any], cluster: Path, density: str
) -> None:
    ran = hemiola("plan", "all_reduce", cluster, "4MiB", f"--density={density}")
    assert ran.is_users_mistake()
    assert "expected a density above 0 and at most 1" in ran.err
