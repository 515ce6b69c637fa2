# SPDX-License-Identifier: Apache-2.0
"""A rank that is killed in the middle of an all-reduce on the device path: every survivor names it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from of_pytorch import needs_triton

#: By job, who dies; device_fault_jobs.py says when.
DOOMED = {
    "plain": 1,
    "slow": 2,
    "told late": 1,
    "late": 1,
    "late, and never there": 2,
    "late, and says who is": 0,
    "sparse": 1,
    "sparse, and never there": 3,
}
#: Gloo's own limit is 30 s. The interpreter's kernels take most of the time before a survivor sees anything.
WITHIN_S = 20.0


@pytest.fixture(scope="module")
def survivors() -> dict[str, Any]:
    """What the survivors of every job say, by rank; None for the rank that died."""
    program = str(Path(__file__).with_name("device_fault_jobs.py"))
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, program, *DOOMED], capture_output=True, text=True, timeout=600, env=environment
    )
    assert done.returncode == 0, done.stderr
    print(done.stderr)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]  # gloo prints, too
    return {job: told for line in lines for job, told in json.loads(line).items()}


@needs_triton
@pytest.mark.parametrize("job", DOOMED)
def test_survivors_name_a_rank_that_is_killed(survivors: dict[str, Any], job: str) -> None:
    doomed = DOOMED[job]
    assert [rank for rank, told in enumerate(survivors[job]) if told is None] == [doomed]
    for told in survivors[job]:
        if told is None:
            continue
        assert told["seconds"] < WITHIN_S
        for name, text, lost in told["raised"]:
            assert (name, lost) == ("LostRankError", doomed)
            assert f"rank {doomed} has died" in text
