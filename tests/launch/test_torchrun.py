# SPDX-License-Identifier: Apache-2.0
"""What torchrun says of a job that fails: its summary ends with the rank to blame, and each other rank names it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hemiola.communicator.error_file import write_error_file
from hemiola.errors import Cause, LostRankError

LIMIT_S = 120
RANKS = """\
import os, sys, numpy as np, hemiola as hm
comm = hm.init(timeout_s=60)
for k in range(30):
    comm.all_reduce(np.ones(1000))
    if k == 20 and comm.rank == 2:
        if sys.argv[1] == "kill": os.kill(os.getpid(), 9)
        if sys.argv[1] == "raise": raise ValueError("bad batch 17")
        if sys.argv[1] == "exit": raise SystemExit(7)
"""
#: Of each way to fail: a pattern of the root cause's end, and the others' words for it. torchrun ends all ranks once it
#: has seen one end. Where that is a survivor, the rank that exits may get the signal first.
WAYS = {
    "kill": (r"Signal 9 \(SIGKILL\)", "rank 2 has died"),
    "raise": ("ValueError: bad batch 17", "rank 2 raised ValueError: bad batch 17"),
    "exit": (r"exitcode  : (7|-15)", "rank 2 has come to the end of its program"),
}


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
def test_torchruns_summary_ends_with_the_rank_to_blame(tmp_path: Path, way: str) -> None:
    pytest.importorskip("torch", reason="needs torchrun (pip install torch)")
    (tmp_path / "ranks.py").write_text(RANKS)
    module = ["torch.distributed.run", "--standalone", "--nproc-per-node", "4"]
    keep = ["--redirects", "3", "--log-dir", str(tmp_path / "logs")]
    done = subprocess.run(
        [sys.executable, "-m", *module, *keep, str(tmp_path / "ranks.py"), way],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    others, _, root = done.stderr.partition("Root Cause")
    end, consequence = WAYS[way]
    assert done.returncode == 1
    assert "rank      : 2 (local_rank: 2)" in root, done.stderr
    assert re.search(end, root), done.stderr
    reasons = re.findall(r"LostRankError: (.*)", others)
    assert all(reason.startswith(consequence) for reason in reasons)
    # On busy cores torchrun may end all three survivors before one of them has written its reason.
    assert reasons or others.count("Signal 15 (SIGTERM)") >= 3, done.stderr
    assert "in all_reduce" not in others  # whoever fails over another rank adds no traceback


def test_a_consequence_is_later_than_its_cause_in_torchruns_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []
    for rank in ("2", "3"):
        place = tmp_path / rank
        monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(place))
        monkeypatch.setenv("RANK", rank)
        write_error_file(LostRankError("all_reduce: rank 2 has died"), Cause(2, "has died", 1.0))
        told.append(json.loads(place.read_text())["message"])
    own, others = told
    assert int(others["extraInfo"]["timestamp"]) > int(own["extraInfo"]["timestamp"])
    assert others["message"] == "LostRankError: rank 2 has died"
    assert "py_callstack" in own["extraInfo"]
    assert "py_callstack" not in others["extraInfo"]


def test_a_file_that_cannot_be_written_takes_no_errors_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(tmp_path / "none" / "error.json"))
    write_error_file(ValueError("bad batch 17"), None)
    assert not list(tmp_path.iterdir())
