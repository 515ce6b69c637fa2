# SPDX-License-Identifier: Apache-2.0
"""A training that loses a rank, as its metrics, its records and its page tell it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from hemiola.cli import main
from hemiola.view.page.job_page import job_data

PROGRAM = str(Path(__file__).with_name("sight_ranks.py"))
RANKS = 3


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """The folder of the survivors' records, and what Prometheus has read of each."""
    folder, name = tmp_path_factory.mktemp("records"), f"sight-{uuid.uuid4().hex[:8]}"
    ranks = [
        subprocess.Popen(
            [sys.executable, PROGRAM, name, str(rank), str(RANKS), str(folder)],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(RANKS)
    ]
    try:
        ended = [rank.communicate(timeout=200) for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    assert ranks[-1].returncode == -9
    assert [rank.returncode for rank in ranks[:-1]] == [0, 0], ended
    return folder, [out for out, _ in ended[:-1]]


def test_prometheus_reads_the_epoch_the_members_and_the_losses(told: tuple[Path, list[str]]) -> None:
    wanted = {"epoch": 1, "members": 2, "joins_total": 0, "leaves_total": 0, "losses_total": 1}
    for text in told[1]:
        for name, value in wanted.items():
            assert re.findall(rf'hemiola_{name}\{{group="[^"]*"\}} (\S+)', text) == [f"{value}.0"], name
        (seconds,) = re.findall(r'hemiola_change_seconds\{group="[^"]*"\} (\S+)', text)
        assert 0 < float(seconds) < 60


def test_the_page_and_the_command_tell_who_was_lost_and_why(
    told: tuple[Path, list[str]], capfd: pytest.CaptureFixture[str]
) -> None:
    changes = [one for one in job_data(told[0], "")["findings"] if "epoch" in one["text"]]
    (change,) = changes
    assert change["rank"] == 2
    assert change["at"] == 0
    words = r"was lost: has died; epoch 1 began after \S+ (m|µ)?s, before the first recorded call"
    assert re.fullmatch(words, change["text"])  # the new ranks' group has recorded nothing before
    assert main(["view", str(told[0])]) == 0
    assert "was lost: has died; epoch 1 began after" in " ".join(capfd.readouterr().out.split())
