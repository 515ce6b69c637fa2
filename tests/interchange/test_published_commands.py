# SPDX-License-Identifier: Apache-2.0
"""Files of other programs at the command line: judged, simulated and drawn as Hemiola's own."""

from __future__ import annotations

from pathlib import Path

import pytest

import hemiola as hm
from cli.conftest import cluster, hemiola  # noqa: F401
from interchange.msccl_files import ring_all_reduce


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    path = tmp_path / "ring.xml"
    path.write_text(ring_all_reduce(4))
    return path


def test_verify_finds_a_ring_of_msccl_right(hemiola, ring: Path) -> None:  # noqa: F811
    ran = hemiola("verify", ring)
    assert ran.code == 0
    assert ran.out.startswith("correct")
    assert " ".join(ran.out.split()).endswith(
        "ring.xml: all_reduce, 4 ranks, 4 chunks, 6 steps, 24 transfers"
    )


def test_verify_says_what_the_files_own_run_leaves_wrong(hemiola, ring: Path) -> None:  # noqa: F811
    ring.write_text(ring_all_reduce(4).replace('type="rrcs"', 'type="rcs"', 1))
    ran = hemiola("verify", ring, "--json")
    assert ran.code == 1
    (found,) = ran.data
    assert not found["is_correct"]
    assert {fault["rule"] for fault in found["violations"]} == {"missing_contribution"}
    ran = hemiola("verify", ring)
    assert "lacks the values of" in ran.out


def test_verify_refuses_a_file_of_no_format_in_one_line(hemiola, ring: Path) -> None:  # noqa: F811
    ring.write_text("<system/>")
    assert hemiola("verify", ring).is_users_mistake()


def test_simulate_and_view_take_the_file(hemiola, ring: Path, cluster: Path) -> None:  # noqa: F811
    own = hemiola("simulate", "all_reduce_ring", cluster, "1MiB", "--json").data
    read = hemiola("simulate", ring, cluster, "1MiB", "--json").data
    assert read["seconds"] == own["seconds"]
    assert (
        hemiola("view", ring, "--json").data["transfers"]
        == hemiola("view", "all_reduce_ring", "--ranks", 4, "--json").data["transfers"]
    )


def test_view_takes_a_plan_in_json_as_a_schedule(hemiola, tmp_path: Path) -> None:  # noqa: F811
    path = tmp_path / "plan.json"
    path.write_text(hm.export.mscclpp_plan(hm.algorithms.all_reduce_ring(4)))
    assert hemiola("verify", path).code == 0
    assert hemiola("view", path, "--json").data["collective"] == "all_reduce"
