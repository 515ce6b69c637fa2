# SPDX-License-Identifier: Apache-2.0
"""Bad files of every reader of others' formats: five kinds, each answered by a sentence that names file and place.

A file is cut off, waits in a circle, is of a foreign version, has another number of ranks, or a million nodes."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import hemiola as hm
from hemiola.workload.reading import model_or_step
from interchange.msccl_files import Block, ring_all_reduce, xml
from interchange.test_mscclpp_plans import RIGHT_PLANS
from interchange.test_tacos_table import TABLE
from interchange.test_teccl import all_gather
from workload import traces
from workload.test_chakra_reader import COMPUTE, STEP, node, text, varint
from workload.test_readers import ASTRA, GOOD, NODES

Content = str | bytes


def _plan(change: Callable[[dict[str, Any]], object]) -> str:
    plan = copy.deepcopy(RIGHT_PLANS["reading"])
    change(plan)
    return json.dumps(plan)


def _without_first(name: str) -> Callable[[dict[str, Any]], object]:
    return lambda plan: [gpu["threadblocks"][0]["ops"].pop(0) for gpu in plan["gpus"]]


def _teccl(change: Callable[[dict[str, Any]], object]) -> str:
    document = all_gather()
    change(document)
    return json.dumps(document)


def _chakra(*nodes: bytes, version: str = "0.0.4") -> bytes:
    return b"".join(varint(len(one)) + one for one in (text(1, version), *nodes))


def _millions(lines: Iterable[bytes]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with path.open("wb") as file:
            file.writelines(lines)

    return write


RING = ring_all_reduce(3)
CIRCLE = xml(
    "allreduce", 1, [[Block(1 - rank, 1 - rank).do("rrs", ("i", 0)).do("r", ("i", 0))] for rank in range(2)]
)
NEEDS_EACH_OTHER = _chakra(node(0, COMPUTE, (1,), 1), node(1, COMPUTE, (0,), 1))
GROUP = {
    "ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": traces.PID, "tid": 2, "ts": 0, "dur": 1,
    "args": {"Collective name": "allreduce", "In msg nelems": 8, "dtype": "Float", "Process Group Ranks": "[0, 8]"},
}  # fmt: skip
GEMM = {**GROUP, "name": "gemm", "args": {}}
#: By reader and kind, a file and words of its answer. A kind is missing where a format cannot have it: ASTRA-sim's
#: layers and PyTorch's times wait for nothing, and neither layers nor a Chakra trace tell of ranks.
BAD: dict[tuple[str, str], tuple[Content, str]] = {
    ("MSCCL XML", "cut off"): (RING[:700], "line 7: not XML"),
    ("MSCCL XML", "circle"): (CIRCLE.replace('type="r"', 'type="nop"'), "circular wait"),
    ("MSCCL XML", "foreign version"): ('<system version="2"/>', "line 1: expected <algo>"),
    ("MSCCL XML", "rank count"): (RING.replace('ngpus="3"', 'ngpus="4"'), "GPU 3 is missing"),
    ("MSCCL++ plan", "cut off"): (_plan(lambda plan: None)[:-30], "line 1: not JSON"),
    ("MSCCL++ plan", "circle"): (_plan(_without_first("signal")), "rank 0, thread block 0, operation 0 (wait) waits"),
    ("MSCCL++ plan", "foreign version"): (_plan(lambda plan: plan.pop("inplace")), "a MSCCL++ plan of v0.10.0"),
    ("MSCCL++ plan", "rank count"): (_plan(lambda plan: plan["gpus"].pop()), "rank 0, thread block 0, operation 0"),
    ("TE-CCL", "cut off"): (_teccl(lambda document: None)[:-30], "line 1: not JSON"),
    ("TE-CCL", "foreign version"): (json.dumps({"sccl_type": "algorithm"}), "an algorithm of SCCL"),
    ("TE-CCL", "rank count"): (
        _teccl(lambda document: document["8-Chunk paths"].popitem()), "'7-Flows': this is no all-gather"),
    ("TACOS table", "cut off"): (TABLE[:-20], "line 8: expected"),
    ("TACOS table", "circle"): (
        TABLE.partition("0,1,500")[0] + "0,1,500,50,2\n1,0,500,50,2\n1,2,500,50,None\n2,1,500,50,None\n",
        "line 6: link 0 to 1 waits for chunk 2"),
    ("TACOS table", "foreign version"): (TABLE.replace("Latency", "Delay"), "line 5: expected 'SrcID"),
    ("TACOS table", "rank count"): (TABLE.replace("NPUs Count,3", "NPUs Count,2"), "line 3: expected a multiple of"),
    ("Chakra", "cut off"): (_chakra(*STEP)[:-5], "bytes, found"),
    ("Chakra", "circle"): (NEEDS_EACH_OTHER, "'node 0': expected nodes that do not wait"),
    ("Chakra", "foreign version"): (_chakra(*STEP, version="9.9"), "'offset 0': expected a Chakra trace"),
    ("PyTorch", "cut off"): (json.dumps(GOOD, indent=1)[:-40], "line "),
    ("PyTorch", "foreign version"): (json.dumps({**GOOD, "schemaVersion": 7}), "'schemaVersion': expected version 1"),
    ("PyTorch", "rank count"): (json.dumps(traces.profile([GEMM, GROUP])), "expected groups of the 2 ranks"),
    ("ASTRA-sim's text", "cut off"): (ASTRA.rsplit("fc", 1)[0], "line 2: expected the 2 layers"),
    ("ASTRA-sim's text", "foreign version"): (ASTRA.replace(" 10\n", " 10 extra\n"), "twelve columns"),
}  # fmt: skip


def answer(path: Path, reader: str) -> str:
    """Return the refusal of a file."""
    read = model_or_step if reader in ("Chakra", "PyTorch", "ASTRA-sim's text") else hm.Schedule.load
    with pytest.raises(hm.FormatError) as raised:
        read(path)
    return str(raised.value)


@pytest.mark.parametrize(("reader", "kind"), BAD)
def test_a_bad_file_is_answered_with_its_place(reader: str, kind: str, tmp_path: Path) -> None:
    content, words = BAD[reader, kind]
    path = tmp_path / "bad"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    if reader == "PyTorch":
        path = path.rename(tmp_path / "kineto.json")
        (tmp_path / "et.json").write_text(json.dumps(NODES))
    message = answer(path, reader)
    assert message.startswith(f"'{path}'")
    assert words in message
    assert "\n" not in message


def test_a_flow_of_te_ccl_that_waits_for_itself_is_found_by_the_judge(tmp_path: Path) -> None:
    """Chunk 0 of node 4 goes from 1 to 2 and from 2 to 1 before it is at either."""
    path = tmp_path / "circle.json"
    flows = ["Chunk 0 from 4 traveled over 1->2 in epoch 0", "Chunk 0 from 4 traveled over 2->1 in epoch 0"]
    path.write_text(_teccl(lambda document: document["7-Flows"].extend(flows)))
    first = hm.verify(hm.Schedule.load(path))[0]
    assert (first.rule, first.step) == ("read_before_defined", 0)
