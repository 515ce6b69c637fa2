# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own DistributedTest, as far as gloo passes it: on "hemiola" the same tests pass, and none is skipped."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LIMIT_S = 280


def listed() -> Iterator[tuple[str, int]]:
    for line in (HERE / "distributed_tests.txt").read_text().splitlines():
        if not line.startswith("#"):
            test, rank_count = line.split()
            yield test, int(rank_count)


@pytest.mark.parametrize("rank_count", [2, 3, 4])
def test_what_gloo_passes_of_pytorchs_distributed_test_passes(rank_count: int) -> None:
    tests = [test for test, ranks in listed() if ranks == rank_count]
    command = [sys.executable, str(HERE / "run_distributed_tests.py"), str(rank_count), "hemiola", *tests]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["test"] for one in found] == tests, done.stderr
    wrong = [f"{one['test']}: {one['outcome']}: {one['why']}" for one in found if one["outcome"] != "passed"]
    assert not wrong, "\n".join(wrong)


def test_the_list_has_all_that_gloo_passes() -> None:
    assert len(list(listed())) == 112
