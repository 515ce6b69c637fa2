# SPDX-License-Identifier: Apache-2.0
"""Launching ranks: results, arguments, failures, and that nothing is left behind."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import launch_functions as work
import pytest

import hemiola as hm
from hemiola.errors import ArgumentError, FailedRankError, TimeoutError
from waiting import is_alive, wait_until

LIMIT_S = 60


def children() -> set[str]:
    """Return the processes that this one has started and that still exist."""
    return set(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split())


def test_results_come_in_rank_order_from_processes_that_are_gone() -> None:
    before = children()
    found = hm.launch(work.rank_and_arguments, 3, "text", [1, 2], timeout_s=LIMIT_S)
    assert [(rank, count) for rank, count, _, _ in found] == [(0, 3), (1, 3), (2, 3)]
    assert all(arguments == ("text", [1, 2]) for _, _, arguments, _ in found)
    assert len({pid for _, _, _, pid in found} | {os.getpid()}) == 4
    assert children() == before


def test_a_rank_that_raises_is_named_with_its_traceback_and_cause() -> None:
    with pytest.raises(FailedRankError, match=r"rank 1: (.|\n)*one_raises(.|\n)*KeyError") as caught:
        hm.launch(work.one_raises, 3, 1, timeout_s=LIMIT_S)
    assert caught.value.rank == 1
    assert isinstance(caught.value.__cause__, KeyError)


def test_ranks_of_one_host_talk_by_tcp_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEMIOLA_WIRE", "tcp")
    monkeypatch.setenv("HEMIOLA_PORTS", "29600-29700")  # of which ranks take the first ones
    assert hm.launch(work.carrier_of_the_other, 2, timeout_s=LIMIT_S) == ["tcp", "tcp"]


def test_ranks_share_the_cores_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cores = len(os.sched_getaffinity(0))
    assert hm.launch(work.thread_limit, 1, timeout_s=LIMIT_S) == [str(cores)]
    assert hm.launch(work.thread_limit, cores + 1, timeout_s=LIMIT_S) == ["1"] * (cores + 1)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert hm.launch(work.thread_limit, 2, timeout_s=LIMIT_S) == ["3", "3"]


def test_an_exception_that_cannot_travel_is_told_by_its_text() -> None:
    with pytest.raises(FailedRankError, match="but its text can") as caught:
        hm.launch(work.one_raises_what_cannot_travel, 1, timeout_s=LIMIT_S)
    assert caught.value.__cause__ is None


def test_a_killed_rank_is_named_rather_than_those_who_miss_it() -> None:
    before = children()
    with pytest.raises(FailedRankError, match="rank 2: killed by signal 9"):
        hm.launch(work.one_is_killed, 3, 2, timeout_s=LIMIT_S)
    assert children() == before


def test_a_rank_that_exits_without_a_result_is_named_with_its_code() -> None:
    with pytest.raises(FailedRankError, match=r"rank 1: .*exit code 3"):
        hm.launch(work.one_exits_early, 2, 1, timeout_s=LIMIT_S)


def test_ranks_that_take_too_long_are_named_and_ended() -> None:
    before = children()
    with pytest.raises(TimeoutError, match="rank 0, 2"):
        hm.launch(work.some_sleep, 3, (0, 2), timeout_s=8)
    assert children() == before


def test_a_thread_that_a_rank_leaves_behind_does_not_outlast_the_timeout() -> None:
    before, began = children(), time.monotonic()
    with pytest.raises(TimeoutError, match=r"rank 1 \(its function has returned; a thread"):
        hm.launch(work.one_leaves_a_thread, 2, 1, 300.0, timeout_s=8)
    assert time.monotonic() - began < 20
    assert children() == before


def test_a_thread_that_ends_in_time_delays_the_launch_only() -> None:
    assert hm.launch(work.one_leaves_a_thread, 2, 1, 1.0, timeout_s=LIMIT_S) == [0, 1]


def test_a_rank_that_fails_beside_a_living_child_is_the_one_to_blame() -> None:
    began = time.monotonic()
    with pytest.raises(FailedRankError, match=r"rank 1: (.|\n)*KeyError") as caught:
        hm.launch(work.one_fails_beside_a_child, 3, 1, timeout_s=LIMIT_S)
    assert caught.value.rank == 1
    assert time.monotonic() - began < 40


def test_forked_children_report_nothing_and_end_with_the_launch(tmp_path: Path) -> None:
    written = tmp_path / "children"
    parents = hm.launch(work.a_child_returns_too, 2, str(written), timeout_s=LIMIT_S)
    assert -1 not in parents
    for child in map(int, written.read_text().split()):
        wait_until(lambda child=child: not is_alive(child))


def test_a_result_that_cannot_travel_is_an_error_of_its_rank() -> None:
    with pytest.raises(FailedRankError, match="rank 0: "):
        hm.launch(work.returns_what_cannot_travel, 1, timeout_s=LIMIT_S)


@pytest.mark.parametrize(("how", "cause"), [("raise", KeyError), ("kill", type(None))])
def test_survivors_may_go_on_and_everybodys_outcome_comes_back(how: str, cause: type) -> None:
    before = children()
    found = hm.launch(work.survivors_go_on, 4, 2, how, timeout_s=LIMIT_S, on_failure="continue")
    failed = found.pop(2)
    assert isinstance(failed, FailedRankError)
    assert failed.rank == 2
    assert isinstance(failed.__cause__, cause)
    # Given ranks 0, 1 and 3 left. Expect their sum, 4, in a group of 3, and the dead rank's number in the error.
    assert found == [(rank, 3, 4.0, 2) for rank in (0, 1, 3)]
    assert children() == before


def test_with_on_failure_continue_a_rank_out_of_time_is_an_outcome_too() -> None:
    before = children()
    first, second = hm.launch(work.some_sleep, 2, (1,), timeout_s=8, on_failure="continue")
    assert first == 0
    assert isinstance(second, TimeoutError)
    assert "rank 1" in str(second)
    assert children() == before


def test_another_word_for_on_failure_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"on_failure.*'raise'.*'continue'.*ignore"):
        hm.launch(work.some_sleep, 1, (), on_failure="ignore")  # type: ignore[call-overload]


@pytest.mark.parametrize("ranks", [0, -1, 1025])
def test_the_number_of_ranks_is_checked(ranks: int) -> None:
    with pytest.raises(ArgumentError, match="expected 1 … 1024 ranks"):
        hm.launch(work.some_sleep, ranks)


def test_a_function_that_holds_what_cannot_be_copied_is_refused_with_the_reason() -> None:
    lock = threading.Lock()
    with pytest.raises(ArgumentError, match=r"must be picklable, and one of them is not: .*lock"):
        hm.launch(lambda: lock.locked(), 1)


def test_a_function_within_a_function_brings_what_it_uses_and_returns_what_it_likes() -> None:
    base = 10

    @dataclass
    class Found:
        rank: int

    def work_here() -> Found:
        return Found(base + hm.init(timeout_s=60).rank)

    assert hm.launch(work_here, 2, timeout_s=LIMIT_S) == [Found(10), Found(11)]


PROGRAM = """\
import hemiola as hm

class Found:
    def __init__(self, rank): self.rank = rank

def work(add):
    return Found(add + hm.init(timeout_s=60).rank)

found = hm.launch(work, 2, 10, timeout_s=60)
print([each.rank for each in found], all(type(each) is Found for each in found))
"""


@pytest.mark.parametrize("given", ["-c", "stdin", "guard", "notebook"])
def test_functions_launch_from_wherever_they_were_typed(tmp_path: Path, given: str) -> None:
    script = tmp_path / "script.py"
    script.write_text('if __name__ == "__main__":\n' + textwrap.indent(PROGRAM, "    "))
    # A notebook's cells run in a main module that no file stands behind, each with a file name of its own.
    notebook = (
        f"import sys; sys.argv = ['']; exec(compile({PROGRAM!r}, '<ipython-input-1>', 'exec'), globals())"
    )
    words = {"-c": ["-c", PROGRAM], "stdin": ["-"], "guard": [str(script)], "notebook": ["-c", notebook]}[
        given
    ]
    done = subprocess.run(
        [sys.executable, *words],
        input=PROGRAM if given == "stdin" else None,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert done.stdout == "[10, 11] True\n", done.stderr


def test_a_network_of_another_size_is_refused() -> None:
    network = hm.topologies.ring(4, latency_s=1e-6, bandwidth=1e9)
    with pytest.raises(ArgumentError, match="has 4 ranks, the job has 2"):
        hm.launch(work.some_sleep, 2, (), emulate=network)


def test_conditions_need_a_network() -> None:
    with pytest.raises(ArgumentError, match="pass emulate"):
        hm.launch(work.some_sleep, 2, (), conditions=hm.Conditions(slow={0: 2.0}))


def test_functions_of_a_script_can_be_launched(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
            import hemiola as hm
            import numpy as np

            def total(x):
                return float(hm.init(timeout_s=60).all_reduce(np.full(3, x))[0])

            if __name__ == "__main__":
                print(hm.launch(total, 2, 1.5, timeout_s=60))
        """)
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=LIMIT_S)
    assert done.stdout == "[3.0, 3.0]\n", done.stderr


def test_ranks_end_when_their_launcher_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(f"""
            import os, pathlib, time
            import hemiola as hm

            def stay():
                comm = hm.init(timeout_s=60)
                pathlib.Path({str(tmp_path)!r}, f"pid{{comm.rank}}").write_text(str(os.getpid()))
                time.sleep(100)

            if __name__ == "__main__":
                hm.launch(stay, 2)
        """)
    )
    launcher = subprocess.Popen([sys.executable, str(script)])
    files = [tmp_path / f"pid{rank}" for rank in range(2)]
    wait_until(lambda: all(file.exists() and file.read_text() for file in files))
    launcher.kill()
    launcher.wait()
    for file in files:
        wait_until(lambda file=file: not is_alive(int(file.read_text())))


def test_a_script_that_launches_at_its_top_level_is_told_how_to_guard_it(tmp_path: Path) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text(
        "import hemiola as hm\n\n\ndef work():\n    return 1\n\n\nhm.launch(work, 2, timeout_s=30)\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode != 0
    assert "if __name__ == '__main__':" in done.stderr


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_a_rank_that_returns_and_then_dies_by_a_signal_has_failed(how: signal.Signals) -> None:
    found = hm.launch(work.dies_after_it_has_returned, 3, 1, how, timeout_s=LIMIT_S, on_failure="continue")
    assert [found[0], found[2]] == [0, 2]
    assert isinstance(found[1], FailedRankError)
    assert found[1].rank == 1
    assert f"killed by signal {how.value} ({how.name})" in str(found[1])


@pytest.mark.parametrize(("more", "rank"), [({}, -1), ({"rank": 3}, 3)])
def test_a_failure_has_the_rank_to_blame_or_minus_one(more: dict[str, int], rank: int) -> None:
    error = FailedRankError("it has failed", **more)
    assert (error.rank, pickle.loads(pickle.dumps(error)).rank) == (rank, rank)
