# SPDX-License-Identifier: Apache-2.0
"""Traces of several ranks: in each part of a step the slowest one counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hemiola as hm
from hemiola.workload.readers.slowest import slowest
from hemiola.workload.reading import model_or_step
from hemiola.workload.task import Call, Program, Step
from workload import traces

CALL = Call("all_reduce", 1000, "world")
SWITCH = hm.topologies.switch(2, latency_s=0.0, bandwidth=1e9)


def recorded(*parts: float, waits: bool) -> Step:
    """Return a rank's step: computation before each call and after the last, which waits for it or does not."""
    program, needs = Program(), list[int]()
    for number, seconds in enumerate(parts):
        computed = program.compute("all ranks", seconds, needs)
        if number < len(parts) - 1:
            called = program.call(["all ranks"], CALL, [computed])
            needs = [called] if waits else []
    return Step("a rank", tuple(program.tasks), ("all ranks",))


def parts_of(step: Step | None) -> list[float]:
    assert step is not None
    return [task.seconds for task in step.tasks if task.call is None]


def test_behind_waits_each_part_is_its_slowest_ranks() -> None:
    steps = [recorded(1.0, 3.0, 1.0, waits=True), recorded(2.0, 1.0, 1.5, waits=True)]
    assert parts_of(slowest(steps)) == pytest.approx([2.0, 3.0, 1.5])


def test_without_waits_the_slowest_sum_counts() -> None:
    """Given: one rank computes 1 s and 3 s, the other 2 s and 1 s. Expect: the last comes after 2 s, and after 4 s."""
    steps = [recorded(1.0, 3.0, 1.0, waits=False), recorded(2.0, 1.0, 1.5, waits=False)]
    assert parts_of(slowest(steps)) == pytest.approx([2.0, 2.0, 1.0])


def test_ranks_with_other_collectives_are_no_one_step() -> None:
    assert slowest([recorded(1.0, 1.0, waits=True), recorded(1.0, 1.0, 1.0, waits=True)]) is None


def rank(folder: Path, number: int, times: float) -> None:
    """Write a rank's traces of one step, so many times as slow as the other's."""
    told = [{**event, "pid": number} for event in traces.events()]
    for event in told:
        event["ts"] *= times
        event["dur"] *= times
    profile, nodes = traces.profile(told), traces.execution([traces.node("c10d::allreduce_", 2)])
    mark = {**traces.operator("ProfilerStep#0", 0, 17 * times, 9, "user_annotation"), "pid": number}
    profile["traceEvents"].append(mark)
    profile["distributedInfo"]["rank"] = number
    (folder / f"kineto-{number}.json").write_text(json.dumps(profile))
    (folder / f"et-{number}.json").write_text(json.dumps({**nodes, "pid": number}))


def test_a_folder_with_the_traces_of_two_ranks_has_the_slower_ones_work(tmp_path: Path) -> None:
    for number, times in ((1, 1.0), (2, 1.5)):
        rank(tmp_path, number, times)
    step = model_or_step(tmp_path)
    assert isinstance(step, Step)
    assert sum(task.seconds for task in step.tasks) == pytest.approx(1.5 * 15e-3, rel=0.01)
    assert "the slowest of 2 recorded ranks" in hm.whatif(tmp_path, SWITCH).explain()


def test_gloos_reduce_scatter_is_waited_for_though_its_work_is_an_all_reduce(tmp_path: Path) -> None:
    told = traces.events()
    told[1]["name"] = "c10d::_reduce_scatter_base_"
    node = traces.node("c10d::_reduce_scatter_base_", 2)
    path = traces.written(tmp_path, traces.profile(told), traces.execution([node]))
    found = hm.whatif(path, hm.topologies.switch(2, latency_s=0.0, bandwidth=1e8))
    assert found.seconds == pytest.approx(10e-3 + 5e-3 + 1e-3, rel=0.02)
    assert found.others["gloo-like"] == pytest.approx(10e-3 + 10e-3 + 1e-3, rel=0.02)
