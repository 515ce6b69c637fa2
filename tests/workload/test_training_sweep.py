# SPDX-License-Identifier: Apache-2.0
"""Sweeps of trainings: each row is the answer of `hemiola.whatif` to its question, wherever it is made."""

from __future__ import annotations

import inspect
import json
import multiprocessing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import hemiola as hm
from hemiola.errors import ArgumentError
from hemiola.sweep import StepRow, Sweep
from hemiola.workload import Training, transformer
from workload import traces

SMALL = transformer(2, 256, 64, vocabulary=0, name="small")
NETWORKS = {
    "slow": hm.topologies.switch(4, latency_s=5e-6, bandwidth=1e9),
    "fast": hm.topologies.switch(8, latency_s=5e-6, bandwidth=25e9),
}
LATE = hm.Conditions(late={1: 1e-3})
SPLITS = (hm.Parallel(), hm.Parallel(tp=2), hm.Parallel(zero=3))
TRAININGS = [Training(SMALL, split) for split in SPLITS]
OPTIONS: dict[str, Any] = {
    "parallel": hm.Parallel(tp=2),
    "buckets": {0: 0.5},
    "overlap_loss": 0.5,
    "cores": 2,
    "untraced_s": 14e-3,
    "software_s": {"hemiola": 1e-3},
}


def swept(**more: Any) -> Sweep:
    return hm.sweep(NETWORKS, TRAININGS, conditions=[hm.Conditions(), LATE], **more)


def test_rows_are_the_answers_in_the_order_of_the_question() -> None:
    rows = [row for row in swept() if row.algorithm == "hemiola"]
    asked = [(name, split, now) for name in NETWORKS for split in SPLITS for now in (hm.Conditions(), LATE)]
    assert len(rows) == len(asked) == 12
    for row, (name, split, now) in zip(rows, asked, strict=True):
        found = hm.whatif(SMALL, NETWORKS[name], now, parallel=split)
        assert (row.topology, row.collective) == (name, " ".join(filter(None, ("small", split.in_words()))))
        assert (row.seconds, row.bound_s, row.chosen) == (found.seconds, found.bound_s, found.limit)
        assert isinstance(row, StepRow)
        assert (row.compute_s, row.hidden_s) == (found.compute_s, found.hidden_s)
        assert (row.exposed_s, row.waiting_s) == (found.exposed_s, found.waiting_s)


def test_other_libraries_have_rows_of_their_own() -> None:
    table = hm.sweep(NETWORKS["slow"], TRAININGS[0])
    found = hm.whatif(SMALL, NETWORKS["slow"])
    assert {row.algorithm: row.seconds for row in table} == {"hemiola": found.seconds, **found.others}
    assert [row.algorithm for row in table.best()] == ["hemiola"]


def test_tables_and_pictures_take_them(tmp_path: Path) -> None:
    table = swept()
    lines = table.to_csv().splitlines()
    assert lines[0].split(",")[-4:] == ["compute_s", "hidden_s", "exposed_s", "waiting_s"]
    assert [StepRow(**row) for row in json.loads(table.to_json())["rows"]] == list(table)
    assert "nccl-like" in table.to_latex()
    assert table._repr_html_().count("<tr>") == 1 + len(table)
    pytest.importorskip("matplotlib")
    axes = table.draw()
    texts = [label.get_text() for label in axes.get_yticklabels()]
    assert len(texts) == 12
    with pytest.raises(ArgumentError, match="found training steps"):
        table.draw(bandwidth=True)


def test_an_interrupted_sweep_goes_on_and_processes_share_it(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    first = swept(resume=kept)

    def never(*_: object) -> Any:
        return iter(())

    assert swept(resume=kept, map=never) == first
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert swept(map=pool.imap) == first


def test_another_model_under_the_same_name_is_another_question(tmp_path: Path) -> None:
    keys = {Training(transformer(2, width, 64, name="small"))._key() for width in (128, 256)}
    assert len(keys) == 2


def test_a_training_takes_all_that_whatif_takes_beside_the_network() -> None:
    asked = [
        name for name in inspect.signature(hm.whatif).parameters if name not in ("topology", "conditions")
    ]
    assert list(inspect.signature(Training).parameters) == asked == ["trace_or_model", *OPTIONS]


@pytest.mark.parametrize("name", OPTIONS)
def test_each_option_makes_another_question_and_its_answer(name: str, tmp_path: Path) -> None:
    option = {name: OPTIONS[name]}
    subject, network = step_of_17_ms(tmp_path), NETWORKS["slow"]
    plain, other = Training(subject), Training(subject, **option)
    assert other._key() != plain._key()
    assert other._key() == Training(subject, **option)._key()
    found = hm.whatif(subject, network, LATE, **option)
    assert found != hm.whatif(subject, network, LATE)
    assert other.on(network, LATE) == found


def step_of_17_ms(folder: Path) -> Path:
    """Write a profile with sizes and a mark around the step, and return its path."""
    nodes = traces.execution([traces.node("c10d::allreduce_", 2)])
    marked = [*traces.events(), traces.operator("ProfilerStep#0", 0, 17, 0, "user_annotation")]
    return traces.written(folder, traces.profile(marked), nodes)


def test_a_trace_is_read_once(tmp_path: Path) -> None:
    path = step_of_17_ms(tmp_path)
    training = Training(path)
    path.unlink()
    table = hm.sweep(NETWORKS, {"the trace": training})
    assert {row.collective for row in table} == {"the trace"}


def test_names_are_texts_files_and_splits() -> None:
    assert Training("gpt-7b", hm.Parallel(tp=8)).name == "gpt-7b tp=8"
    assert "small" in repr(Training(SMALL))
    one = Training("resnet-50", buckets={0: 0.5})
    assert {one, Training("resnet-50", buckets={0: 0.5})} == {one}


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"collectives": Training(SMALL, hm.Parallel(tp=3))}, "8 ranks"),
        ({"sizes": 8}, "sizes, algorithms, a root and a network model of collectives alone"),
        ({"algorithms": "ring"}, "of collectives alone"),
        ({"network": "fifo"}, "of collectives alone"),
        ({"conditions": hm.Conditions(late={9: 1.0})}, "rank 9"),
        ({"collectives": "all_reduce"}, "expected sizes in bytes of collectives"),
        ({"collectives": [TRAININGS[0], TRAININGS[0]]}, "expected different names"),
        ({"collectives": ["all_reduce", TRAININGS[0]]}, "found both"),
    ],
)
def test_a_wrong_question_is_named_before_anything_is_predicted(wrong: dict[str, Any], text: str) -> None:
    def never(*_: object) -> Any:
        raise AssertionError

    asked: dict[str, Any] = {"topologies": NETWORKS["fast"], "collectives": TRAININGS} | wrong
    with pytest.raises(ArgumentError, match="sweep") as raised:
        hm.sweep(**asked, map=never)
    assert text in str(raised.value)


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ({"overlap_loss": 2.0}, "overlap_loss in [0, 1), found 2.0"),
        ({"cores": -1}, "cores from 0, found -1"),
        ({"untraced_s": -1.0}, "untraced_s of 0 seconds or more, found -1.0"),
        ({"untraced_s": 1.0}, "leave untraced_s out"),
        ({"software_s": {"bound": 1.0}}, "found 'bound'"),
    ],
)
def test_a_wrong_option_is_named_when_a_training_is_made(option: dict[str, Any], text: str) -> None:
    with pytest.raises(ArgumentError, match="expected") as raised:
        Training(SMALL, **option)
    assert text in str(raised.value)


def test_a_row_is_a_row_with_the_parts_of_a_step() -> None:
    row = hm.sweep(NETWORKS["slow"], TRAININGS[0]).rows[0]
    assert set(asdict(row)) >= {"seconds", "bound_s", "compute_s", "exposed_s"}
