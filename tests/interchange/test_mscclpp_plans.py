# SPDX-License-Identifier: Apache-2.0
"""MSCCL++'s plans: those that Hemiola writes, small ones written here, and broken ones of both."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hemiola as hm
from hemiola.interchange import mscclpp_plan

_Plan = dict[str, Any]


def _read(plan: _Plan) -> mscclpp_plan.Artefact:
    return mscclpp_plan.read(plan, "'x.json'")


def _local(buffer: str, index: int, size: int = 1) -> dict[str, Any]:
    return {"type": buffer, "index": index, "size": size}


def _remote(index: int, size: int = 1) -> dict[str, Any]:
    return {"buffer_id": 0, "index": index, "size": size}


def _signal() -> dict[str, Any]:
    return {"name": "signal", "channel_ids": [0], "channel_type": "memory"}


def _wait() -> dict[str, Any]:
    return {"name": "wait", "channel_ids": [0], "channel_type": "memory"}


_NOP: dict[str, Any] = {"name": "nop"}


def _pair(collective: str, buffer: str, operations: Callable[[int], list[list[dict[str, Any]]]]) -> _Plan:
    """A plan of two ranks with one channel; `buffer` is the one of the other rank that operations name."""
    gpus = []
    for rank in range(2):
        blocks = [
            {
                "id": number,
                "ops": ops,
                "channels": [{"channel_type": "memory", "channel_ids": [0]}],
                "remote_buffer_refs": [{"access_channel_type": "memory", "remote_buffer_ids": [0]}],
            }
            for number, ops in enumerate(operations(rank))
        ]
        gpus.append(
            {
                "id": rank,
                "input_chunks": 2,
                "output_chunks": 2,
                "scratch_chunks": 2,
                "threadblocks": blocks,
                "channels": [{"channel_type": "memory", "connected_to": [1 - rank]}],
                "remote_buffers": [{"rank": 1 - rank, "type": buffer, "access_channel_types": ["memory"]}],
                "semaphores": [],
            }
        )
    return {
        "name": "pair",
        "collective": collective,
        "protocol": "Simple",
        "inplace": True,
        "gpus": gpus,
    }


def _reading(rank: int) -> list[list[dict[str, Any]]]:
    """Each rank adds the other's half to its own, and then writes the sum back."""
    add = {
        "name": "rre",
        "src_buff": [_local("i", rank), _remote(rank)],
        "dst_buff": [_local("i", rank)],
        "channel_type": "memory",
        "reduce_op": "sum",
    }
    put = {
        "name": "put",
        "src_buff": [_local("i", rank)],
        "dst_buff": [_remote(rank)],
        "channel_type": "memory",
    }
    return [[_signal(), _wait(), _NOP, add, _NOP, _signal(), _wait(), _NOP, put, _NOP, _signal(), _wait()]]


def _shared(rank: int) -> list[list[dict[str, Any]]]:
    """The same by two thread blocks, each with one half of every chunk; the channel is the first one's."""
    (ops,) = _reading(rank)
    blocks: list[list[dict[str, Any]]] = [[], []]
    for part, block in enumerate(blocks):
        for operation in ops:
            if operation["name"] in ("rre", "put"):
                block.append({**operation, "tbg_info": {"tb_id": part, "tbg_size": 2}})
            elif operation["name"] == "nop":
                block.append({"name": "barrier", "barrier_id": 0, "num_threadblocks": 2})
            elif part == 0:
                block.append(operation)
    return blocks


def _by_packets(rank: int) -> list[list[dict[str, Any]]]:
    """Each rank sends its half as packets into the other's scratch, which adds and answers with packets."""
    other = 1 - rank
    send = {
        "name": "ppkt",
        "src_buff": [_local("i", other)],
        "dst_buff": [_remote(0)],
        "channel_type": "memory",
    }
    add = {
        "name": "respkt",
        "src_buff": [_local("i", rank), _local("s", 0)],
        "dst_buff": [_local("i", rank), _remote(1)],
        "channel_type": "memory",
        "reduce_op": "sum",
    }
    take = {"name": "upkt", "src_buff": [_local("s", 1)], "dst_buff": [_local("i", other)]}
    return [[send, add, take]]


RIGHT_PLANS = {
    "reading": _pair("allreduce", "i", _reading),
    "by packets": _pair("allreduce", "s", _by_packets),
}


@pytest.mark.parametrize("name", RIGHT_PLANS)
def test_a_right_plan_becomes_the_exchange_of_two_halves(name: str) -> None:
    read = _read(RIGHT_PLANS[name])
    assert read.faults == ()
    assert read.schedule == hm.algorithms.all_reduce_ring(2)


def test_blocks_that_share_operations_make_as_many_chunks() -> None:
    schedule = _read(_pair("allreduce", "i", _shared)).schedule
    assert schedule.chunk_count == 4
    assert schedule.transfer_count == 8
    assert hm.verify(schedule) == []


_MESH = hm.topologies.mesh([2, 3], latency_s=1e-6, bandwidth=50e9)
_SCHEDULES = [
    hm.algorithms.all_reduce_ring(5),
    hm.algorithms.all_reduce_stragglar(4, 3),
    hm.algorithms.all_reduce_recursive_halving_doubling(4),
    hm.algorithms.all_gather_bruck(5),
    hm.algorithms.reduce_scatter_ring(4),
    hm.algorithms.all_to_all_direct(3),
    hm.synthesize(_MESH, "all_reduce", 1, progress=False),
]


@pytest.mark.parametrize("schedule", _SCHEDULES, ids=lambda schedule: repr(schedule)[:60])
def test_a_plan_that_hemiola_writes_is_found_right_and_moves_the_same_chunks(schedule: hm.Schedule) -> None:
    read = _read(json.loads(hm.export.mscclpp_plan(schedule)))
    assert read.faults == ()
    assert hm.verify(read.schedule) == []
    assert read.schedule.collective.kind == schedule.collective.kind
    between = [table[table["src"] != table["dst"]] for table in (read.schedule.transfers, schedule.transfers)]
    pairs = [np.unique(table[["src", "dst"]]).tolist() for table in between]
    assert pairs[0] == pairs[1]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(_SCHEDULES[:4]), st.data())
def test_a_plan_without_one_signal_or_wait_is_never_found_right(
    schedule: hm.Schedule, data: st.DataObject
) -> None:
    plan = json.loads(hm.export.mscclpp_plan(schedule))
    spots = [
        (block["ops"], at)
        for gpu in plan["gpus"]
        for block in gpu["threadblocks"]
        for at, operation in enumerate(block["ops"])
        if operation["name"] in ("signal", "wait")
    ]
    operations, at = data.draw(st.sampled_from(spots))
    del operations[at]
    try:
        found = [fault.rule for fault in _read(plan).faults]
    except hm.FormatError as error:
        found = [str(error)]
    assert found


def test_a_wrong_index_is_a_fault_of_the_run() -> None:
    plan = copy.deepcopy(RIGHT_PLANS["by packets"])
    plan["gpus"][1]["threadblocks"][0]["ops"][0]["src_buff"] = [_local("i", 1)]
    assert _read(plan).faults[0].rule == "missing_chunk"


def test_a_missing_meeting_of_threads_is_a_race() -> None:
    plan = copy.deepcopy(RIGHT_PLANS["reading"])
    operations = plan["gpus"][0]["threadblocks"][0]["ops"]
    operations[:] = [operation for operation in operations if operation != _NOP]
    assert [fault.rule for fault in _read(plan).faults] == ["race"]


def _without_signal(plan: _Plan) -> None:
    del plan["gpus"][1]["threadblocks"][0]["ops"][0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_without_signal, "rank 0, thread block 0, operation 11 (wait) waits for rank 1"),
        (lambda plan: plan.update(collective="sendrecv"), "the collective is 'sendrecv', of which nothing is promised"),
        (lambda plan: plan["gpus"][0].pop("threadblocks"), "'threadblocks'"),
        (lambda plan: plan["gpus"][0].update(output_chunks=3), "buffers of one size on all ranks"),
        (lambda plan: [gpu.update(input_chunks=3) for gpu in plan["gpus"]], "expected an output of 3 chunks"),
        (lambda plan: plan["gpus"].pop(), "rank 0, thread block 0, operation 0"),
        (lambda plan: plan["gpus"][0]["channels"].append({"channel_type": "switch"}), "found a switch's"),
        (
            lambda plan: plan["gpus"][0]["threadblocks"][0]["ops"].append({"name": "glres"}),
            "rank 0, thread block 0, operation 12: 'glres' needs a switch",
        ),
    ],
)  # fmt: skip
def test_a_plan_that_cannot_be_judged_is_refused_with_its_place(
    change: Callable[[_Plan], object], words: str, tmp_path
) -> None:
    plan = copy.deepcopy(RIGHT_PLANS["reading"])
    change(plan)
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan))
    with pytest.raises(hm.FormatError) as raised:
        hm.Schedule.load(path)
    assert str(raised.value).startswith(f"'{path}'")
    assert words in str(raised.value)
