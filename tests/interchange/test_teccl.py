# SPDX-License-Identifier: Apache-2.0
"""TE-CCL's schedules: flows become transfers, shares of chunks become chunks of a weight."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hemiola as hm
from hemiola import interchange


def all_gather() -> dict[str, Any]:
    """Three GPUs in a line, 1 - 2 - 4, where 3 is a switch between 2 and 4."""
    flows = [
        "Chunk 0 from 1 traveled over 1->2 in epoch 0",
        "Chunk 0 from 2 traveled over 2->1 in epoch 0",
        "Chunk 0 from 2 traveled over 2->4 in epoch 0 via switches 3",
        "Chunk 0 from 4 traveled over 4->2 in epoch 2 via switches 3",
        "Chunk 0 from 1 traveled over 2->4 in epoch 7 via switches 3",
        "Chunk 0 from 4 traveled over 2->1 in epoch 7",
    ]
    paths = {
        f"Demand at {at} for chunk 0 from {by} met by epoch 9": []
        for at in (1, 2, 4)
        for by in (1, 2, 4)
        if at != by
    }
    return {"1-Epoch_Duration": 1e-6, "3-Epochs_Required": 10, "7-Flows": flows, "8-Chunk paths": paths}


def all_to_all() -> dict[str, Any]:
    """Three GPUs, all joined; half of what 0 has for 1 goes by 2."""
    paths: dict[str, Any] = {}
    for by in range(3):
        for at in range(3):
            if at != by:
                paths[f"Demand at {at} for chunk {at} from {by} met by epoch 2"] = [
                    [[0, f"{by}->{at} with volume 1.0 in epoch 0"]]
                ]
    paths["Demand at 1 for chunk 1 from 0 met by epoch 2"] = [
        [[0, "0->1 with volume 0.4999999 in epoch 0"]],
        [[0, "0->2 with volume 0.5 in epoch 0"], [2, "2->1 with volume 0.5 in epoch 2 via switches 5 -> 6"]],
    ]
    return {
        "6-Flows": ["Chunk 1 from 0 traveled over 0->1 with volume 0.5 in epoch 0"],
        "7-chunk paths": paths,
    }


def _read(document: Any, tmp_path) -> hm.Schedule:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document))
    read = interchange.read(path)
    assert (read.form, read.faults) == ("TE-CCL schedule", ())
    return hm.Schedule.load(path)


def test_an_all_gathers_flows_are_transfers_and_its_epochs_steps(tmp_path) -> None:
    schedule = _read(all_gather(), tmp_path)
    assert schedule.collective.kind == "all_gather"
    assert schedule.collective.owner.tolist() == [0, 1, 2]
    assert schedule.transfers[["step", "src", "dst", "chunk"]].tolist() == [
        (0, 0, 1, 0), (0, 1, 0, 1), (0, 1, 2, 1), (1, 2, 1, 2), (2, 1, 0, 2), (2, 1, 2, 0)]  # fmt: skip
    assert hm.verify(schedule) == []


def test_a_flow_before_its_chunk_is_there_is_a_violation(tmp_path) -> None:
    document = all_gather()
    document["7-Flows"][4] = document["7-Flows"][4].replace("epoch 7", "epoch 0")
    assert hm.verify(_read(document, tmp_path))[0].rule == "read_before_defined"


def test_an_all_to_alls_shares_are_chunks_of_their_weight(tmp_path) -> None:
    schedule = _read(all_to_all(), tmp_path)
    assert schedule.collective.kind == "all_to_all"
    weights = np.asarray(schedule.chunk_weights).reshape(3, 3, 2)
    assert np.all(weights.sum(axis=2) == weights.sum(axis=2)[0, 0])
    assert weights[0, 1].tolist() == [weights[0, 1].sum() / 2] * 2
    assert hm.verify(schedule) == []


def _without(*keys: str) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        for key in keys:
            del document[key]

    return change


def _flow(text: str) -> Callable[[dict[str, Any]], None]:
    return lambda document: document["7-Flows"].append(text)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_without("8-Chunk paths"), "expected 'Chunk paths'"),
        (_without("7-Flows"), "JSON of no format known"),
        (lambda document: document.update({"8-Chunk paths": []}), "'8-Chunk paths': expected demands"),
        (lambda document: document.update({"7-Flows": [1]}), "'7-Flows': expected a list of texts"),
        (lambda document: document["8-Chunk paths"].update({"Demand at x": []}), "found 'Demand at x'"),
        (
            lambda document: document["8-Chunk paths"].popitem(),
            "this is no all-gather: node 4 does not demand chunk 0 of",
        ),
        (_flow("Chunk 0 from 1"), "found 'Chunk 0 from 1'"),
        (_flow("Chunk 0 from 1 traveled over 1->9 in epoch 0"), "node 9 demands nothing"),
        (_flow("Chunk 3 from 1 traveled over 1->2 in epoch 0"), "nobody demands chunk 3"),
        (_flow(f"Chunk {'9' * 5000} from 1 traveled over 1->2 in epoch 0"), "expected 'Chunk C"),
    ],
)
def test_a_malformed_all_gather_is_refused_with_its_entry(
    change: Callable[[dict[str, Any]], None], words: str, tmp_path
) -> None:
    document = all_gather()
    change(document)
    with pytest.raises(hm.FormatError) as raised:
        _read(document, tmp_path)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("ways", "words"),
    [
        ([], "expected a list of paths"),
        ([[]], "expected hops of one volume"),
        ([[[0, "0->1"]]], "expected hops 'I->J with volume V in epoch K'"),
        ([[[0, "0->1 with volume 0.5 in epoch 0"]]], "expected paths of volume 1 in all, found 0.5"),
        ([[[0, "0->8 with volume 1.0 in epoch 0"]]], "leads to a node that demands nothing"),
        (
            [[[0, "0->2 with volume 1.0 in epoch 0"], [1, "2->1 with volume 0.5 in epoch 1"]]],
            "expected hops of one volume",
        ),
    ],
)
def test_a_malformed_path_of_an_all_to_all_is_refused_with_its_demand(
    ways: Any, words: str, tmp_path
) -> None:
    document = all_to_all()
    document["7-chunk paths"]["Demand at 1 for chunk 1 from 0 met by epoch 2"] = ways
    with pytest.raises(hm.FormatError) as raised:
        _read(document, tmp_path)
    assert "'Demand at 1 for chunk 1 from 0" in str(raised.value)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"7-Flows": [', "line 1: not JSON"),
        ('{"a": NaN}', "found NaN, which is no number"),
        ('{"a": ' + "[" * 100_000, "not JSON"),
        ('{"a": ' + "1" * 10_000 + "}", "not JSON"),
        ('{"InstanceParams": {}}', "an input of TE-CCL, not a schedule"),
        ('{"sccl_type": "algorithm"}', "an algorithm of SCCL or TACCL"),
        ('{"other": 1}', "JSON of no format known; read are"),
    ],
)
def test_json_of_no_schedule_is_refused_by_its_kind(text: str, words: str, tmp_path) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(hm.FormatError) as raised:
        hm.Schedule.load(path)
    assert str(raised.value).startswith(f"'{path}'")
    assert words in str(raised.value)
