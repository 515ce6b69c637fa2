# SPDX-License-Identifier: Apache-2.0
"""The profiler's own time, and sizes without an execution trace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hemiola as hm
from hemiola.errors import ArgumentError
from hemiola.workload import transformer
from workload import traces

SWITCH = hm.topologies.switch(2, latency_s=0.0, bandwidth=1e8)


def written(folder: Path, **args: object) -> Path:
    """Write the profile of a step of 17 ms, of which it waits 2 ms."""
    told = traces.events()
    for event in told:
        if event["name"] in ("c10d::allreduce_", "gloo:all_reduce"):
            event["args"] = {"Record function id": 0, **args}
    told.append(traces.operator("ProfilerStep#0", 0, 17, 0, "user_annotation"))
    return traces.written(folder, traces.profile(told))


LIST = {"Input Dims": [[[traces.ELEMENTS]], []], "Input type": ["TensorList", ""]}
TENSOR = {"Input Dims": [[traces.ELEMENTS], [9]], "Input type": ["float", "float"]}


@pytest.mark.parametrize("shapes", [LIST, TENSOR])
def test_shapes_in_the_profile_are_sizes(tmp_path: Path, shapes: dict[str, object]) -> None:
    found = hm.whatif(written(tmp_path, **shapes), SWITCH)
    assert [call.nbytes for call in found.calls] == [4 * traces.ELEMENTS]


@pytest.mark.parametrize(
    ("wrapper", "thread"),
    [("PostBackwardFunctionBackward0", 1), ("autograd::engine::evaluate_function: x", 1), ("aten::copy_", 7)],
)
def test_a_wait_inside_a_hook_or_beside_a_backends_thread_is_one(
    tmp_path: Path, wrapper: str, thread: int
) -> None:
    """Given: a node of autograd, or another thread's operator, from 14 ms to 16 ms. Expect: a wait meanwhile."""
    path = written(tmp_path, **LIST)
    document = json.loads(path.read_text())
    document["traceEvents"].append(traces.operator(wrapper, 13.9, 16, 9) | {"tid": thread})
    path.write_text(json.dumps(document))
    assert hm.whatif(path, SWITCH).compute_s == pytest.approx(15e-3, rel=0.01)


def test_without_shapes_the_message_says_how_to_record_them(tmp_path: Path) -> None:
    with pytest.raises(hm.FormatError, match="record_shapes=True"):
        hm.whatif(written(tmp_path), SWITCH)


def test_the_profilers_time_is_taken_off_computation(tmp_path: Path) -> None:
    """Given: 17 ms recorded, of them 15 ms of work, and 14 ms without the profiler. Expect: 12 ms of work."""
    path = written(tmp_path, **LIST)
    assert hm.whatif(path, SWITCH).compute_s == pytest.approx(15e-3, rel=0.01)
    found = hm.whatif(path, SWITCH, untraced_s=14e-3)
    assert found.compute_s == pytest.approx(12e-3, rel=0.01)
    assert "The profiler's 3 ms" in found.explain()
    assert hm.whatif(path, SWITCH, untraced_s=20e-3).compute_s == pytest.approx(15e-3, rel=0.01)


def test_a_time_that_cannot_be_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, **LIST)
    with pytest.raises(ArgumentError, match="at least 2"):
        hm.whatif(path, SWITCH, untraced_s=1e-3)
    with pytest.raises(ArgumentError, match="a trace of PyTorch's profiler"):
        hm.whatif(transformer(2, 64), SWITCH, untraced_s=1.0)
    with pytest.raises(ArgumentError, match="found -1"):
        hm.whatif(path, SWITCH, untraced_s=-1.0)
