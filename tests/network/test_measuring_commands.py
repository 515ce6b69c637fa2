# SPDX-License-Identifier: Apache-2.0
"""`hemiola run` and `bench` by the ranks of a job on several hosts: one answer, from rank 0."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from hemiola.cli import main
from hemiola.cluster import Cluster
from json_documents import read_document
from permission import where_permitted

NAME = f"measuring-{os.getpid()}"
JOB = ["cluster", "run", "--name", NAME, "-n", "2", "--no-labels", "-m", "hemiola"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with where_permitted(), Cluster(2, name=NAME) as made:
        yield made


def test_bench_prints_one_table_for_all_ranks(cluster: Cluster, capfd: pytest.CaptureFixture[str]) -> None:
    assert main([*JOB, "bench", "-b", "1K", "-e", "4K", "-w", "1", "--repeats", "2", "--json"]) == 0
    told = read_document(capfd.readouterr().out)
    assert told["rank_count"] == 4
    assert [(size["nbytes"], size["out_of_place"]["wrong"]) for size in told["sizes"]] == [
        (1024, 0),
        (4096, 0),
    ]


def test_run_prints_one_table_for_all_ranks(cluster: Cluster, capfd: pytest.CaptureFixture[str]) -> None:
    names = "all_reduce_ring,all_reduce_direct"
    assert main([*JOB, "run", "all_reduce", "4KiB", "-a", names, "--warmups", "1", "--repeats", "2"]) == 0
    out, told_before = capfd.readouterr()
    assert out.count("over 4 ranks, ranks of hemiola.launch") == 1
    assert out.count("ring") == out.count("direct") == 1
    assert (
        told_before.count("all_reduce_ring: ") == told_before.count("all_reduce_direct: ") == 1
    )  # as they come


def test_another_number_of_ranks_than_the_jobs_is_refused(
    cluster: Cluster, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main([*JOB, "run", "all_reduce", "4KiB", "--ranks", "3"]) == 2
    assert "--ranks says 3" in capfd.readouterr().err
