# SPDX-License-Identifier: Apache-2.0
"""Gradients travel bucket by bucket as said: one sparse or of eight bits, the others whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hemiola as hm
from hemiola.cli import main
from hemiola.errors import ArgumentError
from hemiola.workload import transformer
from hemiola.workload.buckets import Form, sent_as
from hemiola.workload.programs import step_of
from hemiola.workload.task import Call, Program, Step
from workload import traces

SWITCH = hm.topologies.switch(8, latency_s=2e-6, bandwidth=1e9)
SMALL = transformer(4, 512, 128, vocabulary=1000)


def buckets_of(step: Step) -> list[tuple[int, float]]:
    return [(call.nbytes, call.density) for task in step.tasks if (call := task.call) and call.group == "dp"]


def of_buckets(count: int, element_bytes: int = 2) -> Step:
    program = Program()
    for _ in range(count):
        program.call(["all ranks"], Call("all_reduce", 1000, "dp"))
    program.call(["all ranks"], Call("all_reduce", 1000, "tp"))
    return Step("a step", tuple(program.tasks), ("all ranks",), element_bytes=element_bytes)


def test_each_bucket_has_its_own_form_and_a_number_counts_before_a_class() -> None:
    told: dict[int | str, float | str] = {0: 0.01, 1: "8bit", "dp": "whole"}
    found = sent_as(of_buckets(4), Form(density=0.5), told)
    assert buckets_of(found) == [(1000, 0.01), (500, 1.0), (1000, 1.0), (1000, 1.0)]


def test_buckets_that_are_not_named_are_as_usual() -> None:
    found = sent_as(of_buckets(3), Form(0.1, quantized=True), {2: "whole"})
    assert buckets_of(found) == [(500, 0.1), (500, 0.1), (1000, 1.0)]


def test_activations_are_no_buckets() -> None:
    found = sent_as(of_buckets(1), Form(0.1), {})
    assert [task.call for task in found.tasks][-1] == Call("all_reduce", 1000, "tp")


def test_each_stage_counts_its_own_buckets() -> None:
    step = step_of(SMALL, hm.Parallel(dp=4, pp=2, bucket=1))
    found = buckets_of(sent_as(step, Form(), {0: 0.25}))
    assert [density for _, density in found].count(0.25) == 2
    assert len(found) > 4


def test_experts_have_a_class_of_their_own() -> None:
    model = transformer(2, 256, 64, vocabulary=0, experts=8)
    found = hm.whatif(model, SWITCH, parallel=hm.Parallel(ep=4), buckets={"edp": 0.02})
    assert {call.group: call.density for call in found.calls} == {"dp": 1.0, "edp": 0.02, "ep": 1.0}


def test_a_sparse_bucket_makes_the_step_shorter_and_is_told() -> None:
    split = hm.Parallel(bucket=8 << 20)
    whole, sparse, eighth = (
        hm.whatif(SMALL, SWITCH, parallel=split, buckets=told) for told in ({}, {0: 0.001}, {0: "8bit"})
    )
    assert max(sparse.seconds, eighth.seconds) < whole.seconds
    assert [call.density for call in sparse.calls].count(0.001) == 1
    assert "Zeros" in sparse.explain()
    assert "eight bits" in eighth.explain()
    assert "Zeros" not in whole.explain()


def test_a_traces_gradients_are_sparse_too(tmp_path: Path) -> None:
    """Given: one all-reduce of 1 MB. Expect: its density, and for eight bits a quarter of its bytes and a sentence."""
    nodes = traces.execution([traces.node("c10d::allreduce_", 2)])
    path = traces.written(tmp_path, traces.profile(traces.events()), nodes)
    sparse = hm.whatif(path, SWITCH, hm.Conditions(density=0.01))
    assert [(call.nbytes, call.density) for call in sparse.calls] == [(4 * traces.ELEMENTS, 0.01)]
    eighth = hm.whatif(path, SWITCH, parallel=hm.Parallel(quantized=True))
    assert [call.nbytes for call in eighth.calls] == [traces.ELEMENTS]
    assert "taken to have 4 bytes" in eighth.explain()


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ({7: 0.5}, "numbers from 0 to 2, or classes out of dp, edp, world; found 7"),
        ({"tp": 0.5}, "found 'tp'"),
        ({0: 0.0}, "found 0.0"),
        ({0: 1.5}, "found 1.5"),
        ({0: "4bit"}, "found '4bit'"),
        ({0: float("nan")}, "found nan"),
    ],
)
def test_a_bucket_that_is_none_is_named(told: dict[Any, Any], text: str) -> None:
    with pytest.raises(ArgumentError, match="expected") as raised:
        sent_as(of_buckets(3), Form(), told)
    assert text in str(raised.value)


def test_a_step_without_gradients_has_no_bucket() -> None:
    with pytest.raises(ArgumentError, match="no numbers, as no gradients are sent"):
        sent_as(of_buckets(0), Form(), {0: 0.5})


@pytest.fixture
def network(tmp_path: Path) -> str:
    SWITCH.save(tmp_path / "switch.yaml")
    return str(tmp_path / "switch.yaml")


MODEL = "transformer:layers=4,width=512,sequence=128"


def test_the_command_reads_numbers_ranges_and_classes(
    network: str, capfd: pytest.CaptureFixture[str]
) -> None:
    options = ["--parallel", "bucket=2MiB", "--bucket", "0=1%,1-2=8bit", "--bucket", "dp=whole", "--json"]
    assert main(["whatif", MODEL, "-t", network, *options]) == 0
    answer = json.loads(capfd.readouterr().out)
    assert answer["buckets"] == {"0": 0.01, "1": "8bit", "2": "8bit", "dp": "whole"}
    assert sorted({call["density"] for call in answer["calls"]}) == [0.01, 1.0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0", "expected bucket=density"),
        ("0=", "density above 0"),
        ("0=2", "density above 0"),
        ("3-1=8bit", "'3-1'"),
        ("0=8bit,0=0.5", "bucket 0 is given twice"),
        ("999=0.5", "found 999"),
        ("1-999999999=8bit", "1 to 100,000 buckets"),
        ("x=0.5", "found 'x'"),
    ],
)
def test_a_mistake_is_named_in_a_line(
    network: str, text: str, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["whatif", MODEL, "-t", network, "--bucket", text]) == 2
    assert words in " ".join(capfd.readouterr().err.split())
