# SPDX-License-Identifier: Apache-2.0
"""`hemiola calibrate` on hosts whose rates are known, and a job that plans for what it wrote."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hemiola as hm
from hemiola.cli import main
from hemiola.cluster import Cluster
from json_documents import read_document
from permission import where_permitted
from undisturbed import confirmed

RANK = str(Path(__file__).with_name("given_topology_rank.py"))
NAME = f"calibrate-{os.getpid()}"
RATE = 50e6 / 8


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with where_permitted(), Cluster(2, rate="50mbit", name=NAME) as made:
        yield made


def test_rates_and_shared_nics_are_found_and_a_job_plans_for_them(
    cluster: Cluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cluster.yaml"
    words = ["cluster", "run", "--name", NAME, "-n", "2", "--no-labels"]
    expected = [(0, "nic0", [0, 1]), (1, "nic0", [2, 3])]

    def calibrated() -> dict[str, Any]:
        assert main([*words, "-m", "hemiola", "calibrate", "-o", str(file), "--json"]) == 0
        told: dict[str, Any] = read_document(capfd.readouterr().out)
        return told

    def users(told: dict[str, Any]) -> list[tuple[int, str, list[int]]]:
        return [(nic["host"], nic["nic"], nic["ranks"]) for nic in told["nics"]]

    # A machine whose cores are busy may make a rank that is alone look slow.
    told = confirmed(calibrated, lambda found: users(found) == expected)
    assert users(told) == expected
    # A NIC carries no more than it is allowed to, but for its buckets; how much less, the machine's load decides.
    assert all(RATE / 3 < nic["bandwidth"] < 1.1 * RATE for nic in told["nics"])
    assert told["file"] == str(file)
    topology = hm.Topology.load(file)
    assert topology.nodes.tolist() == [0, 0, 1, 1]
    assert len(topology.nics) == 2

    assert main([*words, sys.executable, RANK, str(file), f"{(1 << 20) / RATE / 1.1:.3f}"]) == 0
    # 1 MiB passes each NIC at least once, both ways, whatever shared memory can do.
    expected = f"{hash(topology):016x} slower than {(1 << 20) / RATE / 1.1:.3f} s right"
    assert capfd.readouterr().out.splitlines() == [expected] * 4


def test_nothing_is_measured_but_what_was_asked_for(
    cluster: Cluster, capfd: pytest.CaptureFixture[str]
) -> None:
    program = str(Path(__file__).with_name("unmeasured_rank.py"))
    assert main(["cluster", "run", "--name", NAME, program]) == 0
    told = sorted(
        line for line in capfd.readouterr().out.splitlines() if line.endswith(("length", "briefly"))
    )
    assert told == ["[0] at length", "[1] at length"]


def test_a_rank_without_the_file_is_named_to_all(
    cluster: Cluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    hm.topologies.switch(2, latency_s=1e-6, bandwidth=1e9).save(tmp_path / "host0.yaml")
    script = f"exec {sys.executable} {RANK} {tmp_path}/$(hostname).yaml 0"
    assert main(["cluster", "run", "--name", NAME, "--no-labels", "sh", "-c", script]) == 1
    complaints = capfd.readouterr().err
    assert "rank 0 passed topology=<Topology" in complaints
    assert f"rank 1 topology=([Errno 2] No such file or directory: '{tmp_path}/host1.yaml')" in complaints
