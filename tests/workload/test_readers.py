# SPDX-License-Identifier: Apache-2.0
"""Traces become steps: times, sizes, groups and waits are those of the file; a bad file is answered with its place."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest

import hemiola as hm
from hemiola.errors import ArgumentError, FormatError
from hemiola.workload.reading import model_or_step
from hemiola.workload.task import Call, Step
from workload import traces

SWITCH = hm.topologies.switch(4, latency_s=10e-6, bandwidth=1e9)
ASTRA = """DATA
2
conv1 -1 1000000 NONE 0 1000000 NONE 0 2000000 ALLREDUCE 4000000 10
fc -1 500000 NONE 0 500000 NONE 0 500000 NONE 0 10
"""


def step_of(path: Path) -> Step:
    found = model_or_step(path)
    assert isinstance(found, Step)
    return found


def test_a_text_of_astra_sim_has_its_times_and_its_all_reduce(tmp_path: Path) -> None:
    (tmp_path / "small.txt").write_text(ASTRA)
    found = hm.whatif(tmp_path / "small.txt", SWITCH)
    assert found.compute_s == pytest.approx(5.5e-3)
    assert [(call.kind, call.nbytes, call.group) for call in found.calls] == [("all_reduce", 4_000_000, "dp")]


def test_groups_of_one_rank_send_nothing(tmp_path: Path) -> None:
    """Given: activations over tensor groups, of which there are none. Expect: computation alone."""
    (tmp_path / "small.txt").write_text(ASTRA.replace("1000000 NONE 0", "1000000 ALLREDUCE 8000000", 1))
    found = hm.whatif(tmp_path / "small.txt", SWITCH)
    assert sum(call.exposed_s for call in found.calls if call.group == "tp") == 0


def test_a_trace_of_pytorch_has_its_work_its_call_and_its_wait(tmp_path: Path) -> None:
    """Given: 14 ms of work, an all-reduce of 1 MB after 10 ms, a wait for it, 1 ms of work. Expect: 15 ms of work."""
    path = traces.written(
        tmp_path, traces.profile(traces.events()), traces.execution([traces.node("c10d::allreduce_", 2)])
    )
    step = step_of(path)
    assert step.calls() == [Call("all_reduce", 4 * traces.ELEMENTS, "world")]
    assert sum(task.seconds for task in step.tasks) == pytest.approx(15e-3, rel=0.01)
    slow = hm.topologies.switch(2, latency_s=0.0, bandwidth=1e8)
    found = hm.whatif(path, slow)
    assert found.seconds == pytest.approx(10e-3 + 10e-3 + 1e-3, rel=0.02)


@pytest.mark.parametrize("name", ["kineto.json", "et.json", "."])
def test_either_file_or_the_folder_names_the_pair(tmp_path: Path, name: str) -> None:
    traces.written(
        tmp_path, traces.profile(traces.events()), traces.execution([traces.node("c10d::allreduce_", 2)])
    )
    assert step_of(tmp_path / name).calls() == [Call("all_reduce", 4 * traces.ELEMENTS, "world")]


def test_a_trace_of_few_ranks_scales_and_one_of_them_may_be_late(tmp_path: Path) -> None:
    traces.written(
        tmp_path, traces.profile(traces.events()), traces.execution([traces.node("c10d::allreduce_", 2)])
    )
    large = hm.topologies.hosts(
        512, 8, 8, latency_s=1e-6, bandwidth=150e9, nic_latency_s=3e-6, nic_bandwidth=25e9
    )
    found = hm.whatif(tmp_path, large)
    assert (found.rank_count, found.calls[0].rank_count) == (4096, 4096)
    late = hm.whatif(tmp_path, SWITCH, hm.Conditions(late={2: 5e-3}))
    punctual = hm.whatif(tmp_path, SWITCH)
    assert punctual.seconds < late.seconds <= punctual.seconds + 5e-3 + 1e-9


def test_of_marked_steps_the_middle_one_is_read(tmp_path: Path) -> None:
    told = [
        traces.operator("aten::mm", at, at + length, 10 + number)
        for number, (at, length) in enumerate([(0, 3), (10, 5), (20, 9)])
    ]
    marks = [
        traces.operator(f"ProfilerStep#{number}", at, at + length, 50 + number, "user_annotation")
        for number, (at, length) in enumerate([(0, 3), (10, 5), (20, 9)])
    ]
    step = step_of(traces.written(tmp_path, traces.profile([*told, *marks])))
    assert sum(task.seconds for task in step.tasks) == pytest.approx(5e-3)


def kernel(name: str, begin: float, end: float, ranks: list[int]) -> dict[str, object]:
    args = {
        "Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, "dtype": "BFloat16",
        "Process Group Ranks": str(ranks),
    }  # fmt: skip
    told = traces.operator(name, begin, end, 0, "kernel")
    return {**told, "args": args if name.startswith("nccl") else {}}


@pytest.mark.parametrize(("ranks", "group"), [([0, 1, 2, 3], "tp"), ([0, 4], "dp"), ([*range(8)], "world")])
def test_a_trace_of_gpus_needs_no_other_and_its_groups_are_told_by_ranks(
    tmp_path: Path, ranks: list[int], group: str
) -> None:
    told = [
        kernel("gemm", 0, 4, []),
        kernel("ncclDevKernel_AllReduce", 4, 5, ranks),
        kernel("gemm", 5, 6, []),
    ]
    step = step_of(traces.written(tmp_path, traces.profile(told, ranks=8)))
    assert step.calls() == [Call("all_reduce", 2000, group)]
    if group == "tp":
        with pytest.raises(ArgumentError, match="groups of 4 neighbours; expected parallel tp=4"):
            hm.whatif(tmp_path, hm.topologies.switch(8, latency_s=0.0, bandwidth=1e9))


BAD_TEXTS = {
    "cut off": (ASTRA.replace("fc", "").rsplit("10\n", 1)[0], "line 4"),
    "a layer is missing": (ASTRA.rsplit("fc", 1)[0], "line 2"),
    "no number": (ASTRA.replace("4000000", "4e6"), "line 3"),
    "no collective": (ASTRA.replace("ALLREDUCE", "ALLSUM"), "line 3"),
    "negative": (ASTRA.replace(" 1000000 NONE", " -5 NONE", 1), "line 3"),
}


@pytest.mark.parametrize("case", BAD_TEXTS)
def test_a_bad_text_is_answered_with_its_line(tmp_path: Path, case: str) -> None:
    text, place = BAD_TEXTS[case]
    (tmp_path / "bad.txt").write_text(text)
    with pytest.raises(FormatError, match="expected") as raised:
        model_or_step(tmp_path / "bad.txt")
    assert place in str(raised.value)


GOOD = traces.profile(traces.events())
NODES = traces.execution([traces.node("c10d::allreduce_", 2)])
BAD_TRACES = {
    "cut off": (json.dumps(GOOD)[:-40], json.dumps(NODES), "kineto.json"),
    "nodes cut off": (json.dumps(GOOD), json.dumps(NODES)[:-30], "et.json"),
    "another version": (json.dumps({**GOOD, "schemaVersion": 7}), json.dumps(NODES), "schemaVersion"),
    "foreign nodes": (json.dumps(GOOD), json.dumps({**NODES, "schema": "9.0"}), "'9.0'"),
    "no sizes": (json.dumps(GOOD), json.dumps(traces.execution([])), "record function id 2"),
    "nothing in it": (json.dumps(traces.profile([])), json.dumps(NODES), "kineto.json"),
    "no times": (
        json.dumps(traces.profile([{"ph": "X", "cat": "cpu_op", "pid": traces.PID}])),
        "{}",
        "event 1",
    ),
}


@pytest.mark.parametrize("case", BAD_TRACES)
def test_a_bad_trace_is_answered_with_its_place(tmp_path: Path, case: str) -> None:
    profile, execution, place = BAD_TRACES[case]
    (tmp_path / "kineto.json").write_text(profile)
    (tmp_path / "et.json").write_text(execution)
    with pytest.raises(FormatError, match="expected") as raised:
        model_or_step(tmp_path / "kineto.json")
    assert place in str(raised.value)


def test_other_files_and_missing_ones_are_named(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("some words\n")
    with pytest.raises(FormatError, match=r"words\.txt"):
        model_or_step(tmp_path / "words.txt")
    with pytest.raises(ArgumentError, match="which is neither"):
        model_or_step(tmp_path / "nothing.json")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FormatError, match="in this folder"):
        model_or_step(tmp_path / "empty")


def test_a_trace_of_many_collectives_is_read_one_after_the_other(tmp_path: Path) -> None:
    """Given: 50,000 calls, each with its work and the wait for it. Each wait is for the call before it."""
    count, told = 50_000, []
    for number in range(count):
        at = number * 10
        told += [
            traces.operator("aten::mm", at, at + 4, count + number),
            traces.operator("c10d::allreduce_", at + 4, at + 4.1, number),
            traces.operator("gloo:all_reduce", at + 4, at + 9, number, "user_annotation"),
        ]
    nodes = [traces.node("c10d::allreduce_", number, 1) for number in range(count)]
    step = step_of(traces.written(tmp_path, traces.profile(told), traces.execution(nodes)))
    assert sum(task.call is not None for task in step.tasks) == count
    assert sum(task.seconds for task in step.tasks) == pytest.approx(count * 5.1e-3, rel=0.01)


def test_a_trace_is_read_in_a_small_part_of_its_size(tmp_path: Path) -> None:
    """Given: 20,000 events, 4 MB. Expect: at most twice as many bytes of memory, as 1 GB needs at most 2 GB."""
    told = [traces.operator("aten::mm", at, at + 0.5, at) for at in range(20_000)]
    path = traces.written(tmp_path, traces.profile(told))
    tracemalloc.start()
    step_of(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 2 * path.stat().st_size + (4 << 20)
