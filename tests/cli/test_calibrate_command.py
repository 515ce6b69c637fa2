# SPDX-License-Identifier: Apache-2.0
"""`hemiola calibrate` before it measures: where it cannot, it says so at once. With hosts: tests/network."""

from pathlib import Path

import numpy as np

from hemiola.cli import calibrate


def test_outside_a_job_it_says_how_to_start_one(hemiola, tmp_path: Path) -> None:
    ran = hemiola("calibrate", "-o", tmp_path / "cluster.yaml")
    assert ran.is_users_mistake()
    assert "no job found" in ran.err
    assert "hemiola launch" in ran.err
    assert not (tmp_path / "cluster.yaml").exists()


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(
    hemiola, tmp_path: Path
) -> None:
    for file in (tmp_path / "no such folder" / "cluster.yaml", tmp_path):
        ran = hemiola("calibrate", "--output", file)
        assert ran.is_users_mistake()
        assert "--output" in ran.err
        assert str(tmp_path) in ran.err


def test_a_links_costs_are_those_of_the_first_and_its_bandwidths_those_of_all() -> None:
    # Given two unlike links. Expect twice the first one's latency, there and in, and the range of both bandwidths.
    kinds = [("latency_s", "f8"), ("message_s", "f8"), ("bandwidth", "f8")]
    ports = np.array([(1e-6, 2e-6, 3e9), (5e-6, 7e-6, 1e9)], kinds)
    expected = {"latency_s": 2e-6, "message_s": 2e-6, "least_bandwidth": 1e9, "most_bandwidth": 3e9}
    assert calibrate._costs(ports) == expected
    assert calibrate._costs(ports[:0]) is None
