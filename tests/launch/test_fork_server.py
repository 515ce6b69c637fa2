# SPDX-License-Identifier: Apache-2.0
"""Ranks are forked from one process: each is as a Python of its own would be, and none outlasts that process."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import forked_functions as work
import pytest

import hemiola as hm
from hemiola.errors import FailedRankError, TimeoutError
from hemiola.launch.rank_processes import RankProcesses
from waiting import is_alive, wait_until

LIMIT_S = 60


def children() -> set[str]:
    """Return the processes that this one has started and that still exist."""
    return set(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split())


def processes(folder: Path, ranks: int) -> Iterator[int]:
    """Yield the processes that ranks have written down."""
    for rank in range(ranks):
        yield from map(int, (folder / f"processes{rank}").read_text().split())


@pytest.fixture
def numpy_random_is_loaded_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have every Python load numpy.random when it starts, and so the fork server, too."""
    (tmp_path / "usercustomize.py").write_text("import numpy.random\n")
    (tmp_path / "sitecustomize.py").write_text("import numpy.random\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


@pytest.mark.usefixtures("numpy_random_is_loaded_early")
def test_no_two_ranks_have_the_same_random_numbers_or_secrets() -> None:
    found = hm.launch(work.randomness, 4, timeout_s=LIMIT_S)
    for values in zip(*found, strict=True):
        assert len(set(values)) == 4


def test_a_rank_finds_what_a_process_of_its_own_would() -> None:
    first, second = hm.launch(work.surroundings, 2, timeout_s=LIMIT_S)
    for rank, found in enumerate((first, second)):
        variables = found.pop("variables")
        assert variables.pop("HEMIOLA_RANK") == variables.pop("HEMIOLA_LOCAL_RANK") == str(rank)
        assert variables.pop("HEMIOLA_RANK_COUNT") == variables.pop("HEMIOLA_LOCAL_RANK_COUNT") == "2"
        added = set(variables) - set(os.environ)
        assert added <= {"OMP_NUM_THREADS", "HEMIOLA_RENDEZVOUS", "HEMIOLA_TOKEN"}
        assert {name: variables[name] for name in os.environ if name in variables} == dict(os.environ)
        assert found.pop("stdin") == os.devnull
        assert found.pop("sockets") == []  # the fork server's connection is not theirs
        assert len(found.pop("pipes")) == 1  # a rank's own report, and nobody else's
        assert found == {
            "group": True,
            "main": True,
            "threads": 1,
            "folder": os.getcwd(),
            "arguments": sys.argv,
            "path": found["path"],
            "collects": True,
            "is_child_of_multiprocessing": False,
        }
        assert set(sys.path) <= {*found["path"], ""}


def test_a_rank_ends_as_any_python_does(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert hm.launch(work.leaves_traces_at_its_end, 2, str(tmp_path), timeout_s=LIMIT_S) == [0, 1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["atexit0", "atexit1", "thread0", "thread1"]
    assert sorted(capfd.readouterr().out.replace("><", "> <").split()) == ["<0>", "<1>"]


def test_numerical_libraries_have_threads_again_after_the_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")  # with which they are started when NumPy is loaded
    found = hm.launch(work.computes_after_a_fork_with_threads, 2, timeout_s=LIMIT_S)
    # Given ones, each of 200 x 200 entries of the product is 200; ranks may use what this process may.
    assert found == [(200.0 * 200 * 200, len(os.sched_getaffinity(0)))] * 2


def test_ranks_end_with_their_fork_server_and_the_error_names_it(tmp_path: Path) -> None:
    before = children()
    with pytest.raises(FailedRankError, match=r"rank \d: ended with the fork server.*killed by signal 9"):
        hm.launch(work.server_is_killed_by, 3, 1, str(tmp_path), timeout_s=LIMIT_S)
    assert children() == before
    for process in processes(tmp_path, 3):  # and what ranks had started
        wait_until(lambda process=process: not is_alive(process))


def test_with_on_failure_continue_the_end_of_the_fork_server_is_every_ranks_outcome(tmp_path: Path) -> None:
    found = hm.launch(work.server_is_killed_by, 2, 0, str(tmp_path), timeout_s=LIMIT_S, on_failure="continue")
    assert [type(each) for each in found] == [FailedRankError] * 2
    assert [each.rank for each in found if isinstance(each, FailedRankError)] == [0, 1]


def test_the_end_of_the_fork_server_may_be_told_twice_at_once() -> None:
    before, payload = children(), os.memfd_create("payload")
    ranks = RankProcesses(2, payload)
    try:
        (server,) = children() - before
        os.kill(int(server), signal.SIGKILL)
        wait_until(
            lambda: len(ranks._selector.select(0)) == 2
        )  # its connection and its process, in one breath
        with pytest.raises(FailedRankError, match="killed by signal 9"):
            ranks.results(LIMIT_S)
    finally:
        ranks.end()
        os.close(payload)


def test_a_fork_server_that_cannot_load_what_ranks_need_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['numpy'] = None\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    before = children()
    with pytest.raises(FailedRankError, match=r"rank 0: ended with the fork server.*exit code 1"):
        hm.launch(work.multiply, 2, timeout_s=LIMIT_S)
    assert children() == before


def test_time_may_be_up_before_there_is_any_rank() -> None:
    before = children()
    with pytest.raises(TimeoutError, match="rank 0, 1"):
        hm.launch(work.multiply, 2, timeout_s=0.01)
    assert children() == before


def test_a_rank_for_which_there_is_no_descriptor_is_an_error_and_nothing_is_left() -> None:
    before, limits = children(), resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 20, limits[1]))
    try:
        with pytest.raises(hm.ResourceError, match=r"launch: 64 ranks: .*'ulimit -n'"):
            hm.launch(work.multiply, 64, timeout_s=LIMIT_S)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert children() == before


def test_ranks_and_their_fork_server_end_when_the_launching_process_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(f"""
            import sys
            sys.path.insert(0, {str(Path(work.__file__).parent)!r})
            import forked_functions
            import hemiola as hm

            if __name__ == "__main__":
                hm.launch(forked_functions.stays, 2, {str(tmp_path)!r})
        """)
    )
    launcher = subprocess.Popen([sys.executable, str(script)])
    files = [tmp_path / f"processes{rank}" for rank in range(2)]
    wait_until(lambda: all(file.exists() and file.read_text() for file in files))
    launcher.kill()
    launcher.wait()
    for process in set(processes(tmp_path, 2)):
        wait_until(lambda process=process: not is_alive(process))
