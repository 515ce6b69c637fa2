# SPDX-License-Identifier: Apache-2.0
"""MSCCL's XML that is malformed, waits in a circle, or whose run cannot go on: a sentence with file, line and node."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import hemiola as hm
from hemiola.interchange import msccl_xml
from hemiola.topology import xml_tree
from interchange.msccl_files import Block, all_pairs_all_reduce, ring_all_reduce, xml
from msccl_machine import verdict

RING = ring_all_reduce(3)


def _refusal(text: str) -> str:
    with pytest.raises(hm.FormatError) as raised:
        msccl_xml.read(text, "'x.xml'")
    message = str(raised.value)
    assert message.startswith("'x.xml'")
    assert "\n" not in message
    return message


def _once(old: str, new: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new, 1)

    return change


_CASES = {
    "cut short": (lambda text: text[:700], "not XML"),
    "empty": (lambda text: "", "not XML"),
    "an XML of another program": (lambda text: "<system/>", "expected <algo>"),
    "a document type": (lambda text: "<!DOCTYPE a [<!ENTITY l 'ha'>]>" + text, "document type"),
    "no rank count": (_once('ngpus="3"', ""), "expected the attribute 'ngpus'"),
    "more ranks than GPUs": (_once('ngpus="3"', 'ngpus="4"'), "GPU 3 is missing"),
    "fewer ranks than GPUs": (_once('ngpus="3"', 'ngpus="2"'), "'id' as a whole number from 0 to 1"),
    "a GPU twice": (_once('<gpu id="1"', '<gpu id="0"'), "stands in line 2"),
    "no chunks": (_once('nchunksperloop="3"', 'nchunksperloop="0"'), "from 1 to"),
    "too many chunks": (_once('nchunksperloop="3"', 'nchunksperloop="1048577"'), "from 1 to 1048576"),
    "a custom collective": (_once("allreduce", "custom"), "the collective is 'custom'"),
    "a collective with a root": (_once("allreduce", "broadcast"), "the collective is 'broadcast'"),
    "an all-to-all that adds": (_once("allreduce", "alltoall"), "adds, which all_to_all does not"),
    "an algorithm that never runs": (_once('inplace="1"', 'inplace="0"'), "never run"),
    "an unknown type": (_once('type="rrs"', 'type="rrx"'), "expected type as one of"),
    "an unknown buffer": (_once('srcbuf="i"', 'srcbuf="x"'), "expected srcbuf as one of i, o, s"),
    "an offset beyond the buffer": (_once('srcoff="2"', 'srcoff="3"'), "ends beyond the buffer of 3 chunks"),
    "an offset that is no number": (_once('srcoff="2"', 'srcoff="two"'), "whole number"),
    "an offset of many digits": (_once('srcoff="2"', f'srcoff="{"1" * 5000}"'), "whole number"),
    "a count beyond the buffer": (_once('cnt="1"', 'cnt="4"'), "ends beyond"),
    "a flag that is none": (_once('hasdep="1"', 'hasdep="2"'), "as 0 or 1"),
    "a step out of order": (_once(' s="1"', ' s="7"'), "numbered from 0"),
    "a thread block twice": (
        _once("</gpu>", '<tb id="0" send="-1" recv="-1" chan="0"/></gpu>'), "thread block 0 already"),
    "a thread block beyond the last": (_once('<tb id="0"', '<tb id="1"'), "'id' as a whole number from 0 to 0"),
    "a GPU connected to itself": (_once('send="1"', 'send="0"'), "its own GPU"),
    "a peer that is not there": (_once('send="1"', 'send="3"'), "from -1 to 2"),
    "a send without a peer": (_once('send="1"', 'send="-1"'), "in a thread block with send='-1'"),
    "a send on another channel": (_once('chan="0"', 'chan="1"'), "has no partner"),
    "a message too many": (_once('type="rrs"', 'type="nop"'), "has no partner"),
    "a dependency on nothing": (_once('depid="-1" deps="-1"', 'depid="4" deps="0"'), "step 0, which GPU 0 has not"),
    "a dependency without a step": (_once('depid="-1" deps="-1"', 'depid="0" deps="-1"'), "'deps' as a whole number"),
}  # fmt: skip


@pytest.mark.parametrize("name", _CASES)
def test_a_malformed_file_is_refused_with_its_place(name: str) -> None:
    change, words = _CASES[name]
    assert re.search(words, _refusal(change(RING)))


def test_messages_of_different_length_are_refused() -> None:
    sender, receiver = Block(send=1).do("s", count=2), Block(recv=0).do("r")
    message = _refusal(xml("allreduce", 2, [[sender], [receiver]]))
    assert "expects 1 chunks, but gpu 0, tb 0, step 0 (s) sends 2" in message


def test_a_circular_wait_is_named_by_its_two_steps() -> None:
    gpus = [[Block(1 - rank, 1 - rank).do("rrs", ("i", 0)).do("r", ("i", 0))] for rank in range(2)]
    text = xml("allreduce", 1, gpus)
    for rank in range(2):
        block = gpus[rank][0]
        block.steps[1] = dict(block.steps[1], type="nop")
    message = _refusal(xml("allreduce", 1, gpus))
    assert "circular wait" in message
    assert "gpu 0, tb 0, step 0 (rrs) in line 4 waits for gpu 1, tb 0, step 0 (rrs) in line 10" in message
    assert "gpu 1, tb 0, step 0 (rrs) in line 10 waits for gpu 0, tb 0, step 0 (rrs) in line 4" in message
    assert not verdict(text, runs=1)


def test_a_circular_wait_of_dependencies_is_named_too() -> None:
    first, second = Block().do("nop", after=(1, 0)), Block().do("nop", after=(0, 0))
    message = _refusal(xml("allreduce", 1, [[first, second]]))
    assert "gpu 0, tb 0, step 0 (nop) in line 4 waits for gpu 0, tb 1, step 0 (nop) in line 7" in message


def test_a_step_that_waits_for_itself_is_refused() -> None:
    message = _refusal(xml("allreduce", 1, [[Block().do("nop", after=(0, 0))]]))
    assert "gpu 0, tb 0, step 0 (nop) in line 4 waits for gpu 0, tb 0, step 0 (nop) in line 4" in message


def test_a_dependency_on_a_step_that_tells_nobody_is_refused() -> None:
    text = all_pairs_all_reduce(2)
    assert "which tells nobody that it is over" in _refusal(text.replace('hasdep="1"', 'hasdep="0"'))


def test_two_thread_blocks_on_one_connection_are_refused() -> None:
    senders = [Block(send=1).do("s", ("i", 0)), Block(send=1).do("s", ("i", 0))]
    receiver = Block(recv=0).do("rrc", ("i", 0)).do("rrc", ("i", 0))
    message = _refusal(xml("allreduce", 1, [senders, [receiver]]))
    assert "tb 0 and tb 1 of GPU 0 both send on the connection of GPU 0 to GPU 1, channel 0" in message


def test_a_read_of_nothing_is_refused_at_its_step() -> None:
    gpus = [[Block(send=1).do("s", ("s", 0))], [Block(recv=0).do("r")]]
    message = _refusal(xml("allreduce", 1, gpus, scratch=1))
    assert "line 4: gpu 0, tb 0, step 0 (s) reads s[0], which holds nothing yet" in message


def test_a_read_of_nothing_that_comes_to_nothing_is_not_refused() -> None:
    text = all_pairs_all_reduce(2).replace('s_chunks="1"', 's_chunks="3"')
    step = (
        '<step s="{}" type="cpy" srcbuf="s" srcoff="1" dstbuf="s" dstoff="2" cnt="1" depid="-1" deps="-1"/>'
    )
    text = text.replace("</tb>", step.format(2) + "</tb>", 1)
    assert verdict(text)
    assert msccl_xml.read(text, "'x.xml'").faults == ()


def test_a_sum_of_two_chunks_is_refused_at_its_step() -> None:
    message = _refusal(xml("allreduce", 2, [[Block().do("re", ("i", 0), ("i", 1))]]))
    assert "line 4: gpu 0, tb 0, step 0 (re) adds chunk 0 to chunk 1" in message


def test_a_schedule_is_not_made_of_a_run_that_ends_wrong(tmp_path) -> None:
    path = tmp_path / "wrong.xml"
    path.write_text(RING.replace('type="rrcs"', 'type="rcs"', 1))
    with pytest.raises(hm.FormatError, match=r"the run of this MSCCL XML ends wrong: .* lacks the values of"):
        hm.Schedule.load(path)


def test_more_nodes_than_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml_tree, "_MAX_ELEMENTS", 500)
    assert "line 9: expected at most 500 elements" in _refusal(
        RING.replace("</tb>", "<x/>" * 500 + "</tb>", 1)
    )


def test_a_file_that_is_too_large_is_refused(tmp_path) -> None:
    path = tmp_path / "large.xml"
    with path.open("wb") as file:
        file.write(b"<algo>")
        file.truncate(1 << 27)
    with pytest.raises(hm.FormatError, match="expected at most 33554432 bytes"):
        hm.Schedule.load(path)
