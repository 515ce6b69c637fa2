# SPDX-License-Identifier: Apache-2.0
"""A real run beside its prediction: as the command writes it, in one trace and on one page."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import hemiola as hm
from hemiola.measure.contest import Contest, compare
from hemiola.measure.pattern import Pattern
from hemiola.transfers.recorded import measured_operation

CLUSTER = hm.topologies.switch(4, latency_s=50e-6, bandwidth=100e6)
LATE = hm.Conditions(late={2: 30e-3})


@pytest.fixture(scope="module")
def recording():
    """A ring of four ranks on an emulated cluster, of which rank 2 comes 30 ms late."""
    pattern = Pattern.of_bytes("all_reduce", 4, 400_000, np.dtype(np.float32))
    contest = Contest(
        (pattern,),
        ("all_reduce_ring",),
        emulate=CLUSTER,
        conditions=LATE,
        warmups=0,
        repeats=3,
        recorded=10_000,
    )
    return compare(contest).sizes[0].rows[0].recording


def test_a_run_on_an_emulated_cluster_has_the_messages_of_its_prediction(recording) -> None:
    real, told = measured_operation(recording.ranks, 4), recording.timeline.messages
    names = ["step", "src", "dst", "chunk", "reduce"]
    assert sorted(real[names].tolist()) == sorted(told[names].tolist())
    # The late rank's first message leaves 30 ms after the others' first.
    assert real["begin_s"][real["src"] == 2].min() == pytest.approx(30e-3, abs=10e-3)
    assert real["land_s"].max() > 30e-3


def test_nothing_is_recorded_unless_somebody_asks() -> None:
    pattern = Pattern.of_bytes("all_reduce", 2, 4096, np.dtype(np.float32))
    contest = Contest((pattern,), ("all_reduce_ring",), warmups=0, repeats=1)
    assert [row.recording for row in compare(contest).sizes[0].rows] == [None]


def test_one_trace_has_both_runs_of_each_rank(recording, tmp_path: Path) -> None:
    recording.timeline.save_trace(tmp_path / "both.json", recording.ranks)
    events = json.loads((tmp_path / "both.json").read_text())["traceEvents"]
    threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    for rank in range(4):
        assert {name for (pid, _), name in threads.items() if pid == rank} == {
            *("predicted sends", "predicted, received", "measured sends", "measured, received")
        }
    count = recording.timeline.schedule.transfer_count
    slices = [event for event in events if event["ph"] == "X"]
    for run in ("predicted", "measured"):
        of_run = [e for e in slices if threads[e["pid"], e["tid"]] == f"{run} sends"]
        assert len(of_run) == count
        assert all(event["dur"] >= 0 for event in of_run)
        assert min(event["ts"] for event in of_run) == pytest.approx(0, abs=1)
    by_thread: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for event in slices:
        if "sends" in threads[event["pid"], event["tid"]]:
            span = (event["ts"], event["ts"] + event["dur"])
            by_thread.setdefault((event["pid"], event["tid"]), []).append(span)
    for spans in by_thread.values():  # slices of a thread do not overlap
        spans.sort()
        assert all(a[1] <= b[0] + 1e-3 for a, b in pairwise(spans))
    arrows = {phase: sorted(e["id"] for e in events if e["ph"] == phase) for phase in "sf"}
    assert arrows["s"] == arrows["f"] == list(range(2 * count))


def test_a_run_of_another_schedule_is_refused(recording, tmp_path: Path) -> None:
    other = hm.simulate(hm.algorithms.all_reduce_direct(4), CLUSTER, 400_000)
    with pytest.raises(hm.ArgumentError, match="found those of another one"):
        hm.explore(other, tmp_path / "x.html", measured=recording.ranks)
    with pytest.raises(hm.ArgumentError, match="of 4 ranks, found those of 3"):
        recording.timeline.save_trace(tmp_path / "x.json", recording.ranks[:3])
    with pytest.raises(hm.ArgumentError, match="a job has its own"):
        hm.explore(tmp_path, tmp_path / "x.html", measured=recording.ranks)
    assert list(tmp_path.iterdir()) == []
