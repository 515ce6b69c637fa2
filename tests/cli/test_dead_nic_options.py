# SPDX-License-Identifier: Apache-2.0
"""A dead NIC on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hemiola as hm


@pytest.fixture
def hosts(tmp_path: Path) -> Path:
    """Four hosts of four ranks with a NIC each."""
    path = tmp_path / "hosts.yaml"
    hm.topologies.hosts(
        4, 4, 4, latency_s=2e-6, bandwidth=100e9, nic_latency_s=5e-6, nic_bandwidth=25e9
    ).save(path)
    return path


def test_the_command_line_takes_a_dead_nic_in_both_forms(hemiola: Callable[..., Any], hosts: Path) -> None:
    times = []
    for words in (["--slow", "nic:0/nic1=inf"], ["--without-nic", "0/nic1"]):
        ran = hemiola("plan", "all_reduce", hosts, "256MiB", *words, "--json")
        assert ran.code == 0, ran
        times.append(ran.data["seconds"])
    assert times[0] == times[1]


@pytest.mark.parametrize("factor", ["nan", "-1", "0", "-inf"])
def test_the_command_line_refuses_a_bad_factor(hemiola: Callable[..., Any], hosts: Path, factor: str) -> None:
    ran = hemiola("plan", "all_reduce", hosts, "1MiB", "--slow", f"nic:0/nic1={factor}")
    assert ran.is_users_mistake(), ran


def test_the_command_line_refuses_a_host_without_nics(hemiola: Callable[..., Any], hosts: Path) -> None:
    lost = ",".join(f"2/nic{nic}" for nic in range(4))
    ran = hemiola("plan", "all_reduce", hosts, "1MiB", "--without-nic", lost)
    assert ran.is_users_mistake(), ran
