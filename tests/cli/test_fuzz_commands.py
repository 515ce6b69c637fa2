# SPDX-License-Identifier: Apache-2.0
"""Arguments at random: whatever is typed, a command answers or refuses in one line; it never ends in a traceback."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hemiola as hm

#: Words that make commands get far, and words that trip them.
WORDS = [
    "all_reduce_ring", "broadcast_binomial", "all_reduce", "broadcast", "cluster.yaml", "ring.sched", "no such file",
    "1KiB", "4096", "0", "-1", "1e400", "9" * 30, "1XiB", "--late", "1=1ms", "1=", "9=1ms", "--slow", "0=2", "0=0.5",
    "--root", "1", "7", "--network", "fifo", "ether", "--json", "--ranks", "-n", "3", "--explain", "--save", "o.sched",
    "--trace", "out.json", "--chart", "out.png", "out.gif", "--help", "--", "", "\0", "\udcff", "é", "[bold]",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    hm.topologies.switch(3, latency_s=10e-6, bandwidth=1e9).save(tmp_path / "cluster.yaml")
    hm.algorithms.all_reduce_ring(3).save(tmp_path / "ring.sched")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", ["plan", "simulate", "verify", "view"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(st.sampled_from(WORDS) | st.text(max_size=6), max_size=7))
def test_any_arguments_are_answered_or_refused_in_one_line(
    hemiola, folder: Path, command: str, words: list[str]
) -> None:
    ran = hemiola(command, *words)
    assert ran.code in (0, 1) or ran.is_users_mistake(), (words, ran)
