# SPDX-License-Identifier: Apache-2.0
"""The benchmark of collectives on one machine: what it times, what it counts, and what it holds to be behind."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest

import shared_memory
import shared_memory_rank as rank_script


class Noted(rank_script.Library):
    """A library whose operations note what they find in the arrays, spoil them and take two milliseconds."""

    def __init__(self, rank: int) -> None:
        self.rank, self.rank_count = rank, 2
        self.found: list[tuple[float, float]] = []
        self.barriers = 0

    def barrier(self) -> None:
        self.barriers += 1

    def operation(
        self, collective: str, x: np.ndarray, y: np.ndarray, part: np.ndarray
    ) -> rank_script.Operation:
        def run() -> None:
            self.found.append((float(x.sum()), float(part.sum())))
            x[:] = part[:] = 5
            time.sleep(0.002)

        return run


@pytest.mark.parametrize(
    ("collective", "rank", "sent"),
    [("all_reduce", 0, "x"), ("all_reduce_in_place", 1, "x"), ("all_to_all", 1, "x"), ("reduce_scatter", 0, "x"),
     ("all_gather", 1, "part"), ("broadcast", 0, "x"), ("broadcast", 1, "")],
)  # fmt: skip
def test_the_sent_array_is_written_anew_before_each_operation(collective: str, rank: int, sent: str) -> None:
    library = Noted(rank)
    rank_script.measure(library, collective, 1024, 4)
    assert len(library.found) == 7  # three of them to warm up
    assert {found for found, _ in library.found[1:]} == {256.0 if sent == "x" else 5 * 256.0}
    assert {found for _, found in library.found[1:]} == {128.0 if sent == "part" else 5 * 128.0}


def test_the_time_of_writing_is_taken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Noted(0)
    clock = itertools.accumulate([0.0, 70.0, 0.0, 30.0])  # both together, then writing alone
    monkeypatch.setattr(rank_script.time, "perf_counter", lambda: next(clock))
    assert rank_script.measure(library, "all_reduce", 64, 10) == pytest.approx(4.0)


def test_a_barrier_is_measured_by_itself() -> None:
    library = Noted(0)
    rank_script.measure(library, "barrier", 0, 4)
    assert library.barriers == 3 + 4 + 4
    assert rank_script.wrong_elements(library, "barrier", 0) == 0


def test_every_row_counts_in_the_verdict() -> None:
    def row(collective: str, ratio: float) -> dict[str, object]:
        times = {"hemiola": {"median": 1.0}, "openmpi": {"median": ratio}}
        over = {"openmpi": {"median": ratio, "low": ratio, "high": ratio}}
        return {
            "collective": collective,
            "ranks": 2,
            "bytes": 1024,
            "seconds": times,
            "over_hemiola": over,
        }

    found = shared_memory.judge([row(name, 2.0) for name in shared_memory.COLLECTIVES])
    assert (found["cells"], found["behind"], found["met"]) == (len(shared_memory.COLLECTIVES), [], True)
    behind = shared_memory.judge([row("all_reduce_in_place", 0.5), row("all_gather", 3.0)])["behind"]
    assert [line.split(",")[0] for line in behind] == ["all_reduce_in_place"]
