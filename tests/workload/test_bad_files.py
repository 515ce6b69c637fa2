# SPDX-License-Identifier: Apache-2.0
"""Bad files of every reader of others' formats: five kinds, each answered by a sentence that names file and place.

A file is cut off, waits in a circle, is of a foreign version, has another number of ranks, or a million nodes."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import repeat
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
TRACES = ("Chakra", "PyTorch", "ASTRA-sim's text")


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
    read = model_or_step if reader in TRACES else hm.Schedule.load
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


MANY = 1_000_000


def _many_elements() -> Iterator[str]:
    yield '<algo coll="allreduce" ngpus="1" nchunksperloop="1" inplace="1">\n<gpu id="0" s_chunks="0">\n'
    yield '<tb id="0" send="-1" recv="-1" chan="0">\n'
    yield from repeat("<step/>\n", MANY)
    yield "</tb>\n</gpu>\n</algo>\n"


def _many_operations() -> Iterator[str]:
    """Thread blocks of 50 operations that wait for nothing."""
    block = json.dumps({"id": 0, "ops": [{"name": "nop"}] * 50})
    gpu = {"id": 0, "input_chunks": 1, "output_chunks": 1, "scratch_chunks": 0, "channels": []}
    yield '{"name": "x", "collective": "allreduce", "inplace": true, "gpus": [' + json.dumps(gpu)[:-1]
    yield ', "threadblocks": [' + block
    yield from repeat(f",\n{block}", MANY // 50 - 1)
    yield "]}]}"


def _many_flows() -> Iterator[str]:
    head, tail = _teccl(lambda document: document.update({"7-Flows": ["HERE"]})).split('"HERE"')
    yield head + '"'
    yield from repeat('Chunk 0 from 1 traveled over 1->2 in epoch 0",\n"', MANY)
    yield 'the last"' + tail


def _many_links() -> Iterator[str]:
    """All links of 1,001 NPUs, of which the last waits for a chunk for ever."""
    count = 1001
    yield f"NPUs Count,{count}\nLinks Count,{count * (count - 1)}\nChunks Count,{count}\nChunk Size,1,B\n"
    yield TABLE.splitlines()[4] + "\n"
    pairs = [(src, dst) for src in range(count) for dst in range(count) if src != dst]
    yield from (f"{src},{dst},1,1,None\n" for src, dst in pairs[:-1])
    yield f"{pairs[-1][0]},{pairs[-1][1]},1,1,5\n"


def _many_nodes() -> Iterator[bytes]:
    yield _chakra()
    for place in range(MANY):
        one = node(place, COMPUTE, (), 1)
        yield varint(len(one)) + one


def _many_events() -> Iterator[str]:
    """Work and calls in turns, and an event without a time."""
    head, tail = json.dumps(traces.profile(["HERE"])).split('"HERE"')
    yield head
    for place in range(MANY // 2):
        event = '{"ph":"X","cat":"cpu_op","pid":1,"name":'
        yield f'{event}"mm","ts":{place * 20},"dur":9}},\n'
        yield f'{event}"c10d::allreduce_","ts":{place * 20 + 9},"dur":1}},\n'
    yield event + '"mm","ts":"late","dur":1}' + tail


def _many_layers() -> Iterator[str]:
    yield "DATA\n"
    yield from repeat("layer -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n", MANY)


#: By reader, its file of a million nodes, and words of the answer.
LARGE: dict[str, tuple[Callable[[], Iterator[Content]], str]] = {
    "MSCCL XML": (_many_elements, "line 4: <step>: expected the attribute 's'"),
    "MSCCL++ plan": (_many_operations, "expected fewer thread blocks and ranks, found 20000 and 1"),
    "TE-CCL": (_many_flows, "expected at most 33554432 bytes"),
    "TACOS table": (_many_links, "line 1001005: link 1000 to 999 waits for chunk 5"),
    "Chakra": (_many_nodes, "expected at most 200,000 nodes, found more"),
    "PyTorch": (_many_events, "'event 1000001': expected 'ts' and 'dur'"),
    "ASTRA-sim's text": (_many_layers, "line 100002: expected at most 100,000 layers"),
}
READ = """
import pathlib, sys, time
import hemiola as hm
from hemiola.workload.reading import model_or_step

def used():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])

before, begin_s = used(), time.monotonic()
try:
    (model_or_step if sys.argv[2] == "trace" else hm.Schedule.load)(pathlib.Path(sys.argv[1]))
except hm.FormatError as error:
    print(used() - before, round(time.monotonic() - begin_s, 1), error)
"""
MOST_KIB = 600 << 10


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read in /proc")
@pytest.mark.parametrize("reader", LARGE)
def test_a_million_nodes_are_answered_in_little_memory(reader: str, tmp_path: Path) -> None:
    """Also in seconds, which the test's timeout holds: work that grows with the square would take days."""
    make, words = LARGE[reader]
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.writelines(one.encode() if isinstance(one, str) else one for one in make())
    kind = "trace" if reader in TRACES else "schedule"
    told = subprocess.run(
        [sys.executable, "-c", READ, path, kind], capture_output=True, text=True, check=True
    ).stdout
    kib, _, message = told.strip().split(" ", 2)
    assert words in message
    assert message.startswith(f"'{path}'")
    assert int(kib) < MOST_KIB
