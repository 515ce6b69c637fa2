# SPDX-License-Identifier: Apache-2.0
"""What `init(topology=…)` takes: the same on every rank, of as many ranks as the job has, and what is then planned
for."""

from __future__ import annotations

from pathlib import Path

import calibrating_ranks as work
import pytest

import hemiola as hm

LIMIT_S = 120.0
HOSTS = hm.topologies.hosts(
    2, 2, latency_s=1e-6, bandwidth=10e9, nic_latency_s=50e-6, nic_bandwidth=25e6, nic_message_s=2e-6
)


def test_plans_are_made_for_the_topology_that_was_given(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    HOSTS.save(path)
    for given in (HOSTS, str(path)):
        for found in hm.launch(work.planned_for, 4, {0: given}, timeout_s=LIMIT_S):
            assert found["topology"] == HOSTS
            assert found["sum"] == 4.0
            # 2·(N-1)/N of 1 MiB pass each of two NICs of 25 MB/s, whatever shared memory can do.
            assert found["seconds"] >= (1 << 20) / 25e6


def test_a_group_plans_for_its_part_of_the_topology() -> None:
    found = hm.launch(work.planned_for, 4, {0: HOSTS}, [1, 2], timeout_s=LIMIT_S)
    assert found[0] == found[3] == "not in the group"
    for told in found[1:3]:
        assert told["topology"].nodes.tolist() == [0, 1]
        assert told["topology"] == HOSTS.without_ranks([0, 3])


def test_a_group_that_others_join_plans_for_a_switch_as_fast() -> None:
    line = hm.topologies.mesh([3], latency_s=1e-6, bandwidth=1e9)
    found = hm.launch(work.planned_for, 3, {0: line}, [0, 2], timeout_s=LIMIT_S)
    assert found[0]["topology"] == hm.topologies.switch(2, latency_s=1e-6, bandwidth=1e9)


def test_ranks_that_bring_different_topologies_all_learn_it() -> None:
    other = HOSTS.degraded({0: 2.0})
    for error in hm.launch(work.planned_for, 4, {0: HOSTS, 2: other}, timeout_s=LIMIT_S):
        assert error.startswith("MismatchError: init: rank 0 passed topology=<Topology")
        assert "rank 2 topology=<Topology" in error


def test_a_file_that_one_rank_cannot_read_is_told_to_all(tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    HOSTS.save(path)
    missing = str(tmp_path / "missing.yaml")
    for error in hm.launch(work.planned_for, 4, {0: str(path), 1: missing}, timeout_s=LIMIT_S):
        assert error.startswith("MismatchError: init: rank 0 passed topology=<Topology")
        assert missing in error


def test_a_file_that_cannot_be_read_is_no_more_the_same_as_none_than_another_one(tmp_path: Path) -> None:
    missing = [str(tmp_path / name) for name in ("a.yaml", "b.yaml")]
    for first, named in ((None, "topology=None"), (missing[0], missing[0])):
        for error in hm.launch(work.planned_for, 2, {0: first, 1: missing[1]}, timeout_s=LIMIT_S):
            assert error.startswith("MismatchError: init: rank 0 passed topology=")
            assert named in error
            assert f"{missing[1]}" in error


@pytest.mark.parametrize(
    ("content", "expected"),
    [(None, "FileNotFoundError: "), ("ranks: 4\nlinks: [[0, 9]]\n", "FormatError: ")],
    ids=["missing", "broken"],
)
def test_a_file_that_no_rank_can_read_is_an_error_on_each(
    tmp_path: Path, content: str | None, expected: str
) -> None:
    path = tmp_path / "cluster.yaml"
    if content is not None:
        path.write_text(content)
    for error in hm.launch(work.planned_for, 2, {0: str(path)}, timeout_s=LIMIT_S):
        assert error.startswith(expected)
        assert str(path) in error


def test_a_topology_of_another_number_of_ranks_is_refused() -> None:
    for error in hm.launch(work.planned_for, 3, {0: HOSTS}, timeout_s=LIMIT_S):
        assert error.startswith("ArgumentError: topology: 'hosts 2x2' has 4 ranks, the job has 3")


def test_an_emulated_network_is_not_given_another_one() -> None:
    for error in hm.launch(work.planned_for, 4, {0: HOSTS}, emulate=HOSTS, timeout_s=LIMIT_S):
        assert error.startswith("ArgumentError: topology: an emulated network is known already")


def test_whoever_asks_again_for_another_topology_is_told_which_is_in_force() -> None:
    for error in hm.launch(work.asked_again, 4, HOSTS, timeout_s=LIMIT_S):
        assert "has joined its job with topology=None" in error
