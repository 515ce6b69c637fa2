# SPDX-License-Identifier: Apache-2.0
"""MSCCL's XML: right programs of every collective become schedules that the judge finds right."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hemiola as hm
from hemiola import interchange
from hemiola.interchange import msccl_xml
from interchange.msccl_files import (
    RIGHT,
    Block,
    all_pairs_all_reduce,
    one_shot_all_reduce,
    ring_all_reduce,
    xml,
)
from msccl_machine import verdict


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_program_is_found_right_by_the_machine_the_run_and_the_judge(name: str) -> None:
    assert verdict(RIGHT[name])
    read = msccl_xml.read(RIGHT[name], "'x.xml'")
    assert read.faults == ()
    assert hm.verify(read.schedule) == []


@given(st.integers(2, 7), st.integers(1, 3))
def test_a_ring_becomes_the_ring_with_one_step_a_message(ranks: int, channels: int) -> None:
    schedule = msccl_xml.read(ring_all_reduce(ranks, channels), "'x.xml'").schedule
    assert schedule.step_count == 2 * (ranks - 1)
    assert schedule.transfer_count == 2 * (ranks - 1) * ranks * channels
    assert hm.verify(schedule) == []
    if channels == 1:
        assert schedule == hm.algorithms.all_reduce_ring(ranks)


def test_parts_that_land_in_scratch_and_are_added_there_are_transfers_that_add() -> None:
    schedule = msccl_xml.read(all_pairs_all_reduce(4), "'x.xml'").schedule
    assert schedule.scratch_count == 0
    assert schedule.step_count == 2
    assert np.count_nonzero(schedule.transfers["reduce"]) == 4 * 3


def test_parts_that_are_passed_on_raw_need_scratch_slots() -> None:
    schedule = msccl_xml.read(one_shot_all_reduce(4), "'x.xml'").schedule
    assert schedule.scratch_count > 0
    messages = schedule.transfers[schedule.transfers["src"] != schedule.transfers["dst"]]
    assert len(messages) == 4 * 3
    assert hm.verify(schedule) == []


def test_the_schedule_of_a_file_runs_on_real_buffers(tmp_path) -> None:
    path = tmp_path / "ring.xml"
    path.write_text(one_shot_all_reduce(3))
    schedule = hm.Schedule.load(path)

    assert hm.launch(_sum_of_ranks, 3, schedule, timeout_s=60) == [36.0] * 3


def _sum_of_ranks(schedule: hm.Schedule) -> float:
    with hm.init() as comm:
        buffer = np.full(6, float(comm.rank + 1))
        comm.all_reduce(buffer, schedule=schedule)
        return float(buffer.sum())


def test_schedule_load_tells_a_file_by_its_content(tmp_path) -> None:
    path = tmp_path / "any name"
    path.write_text("\ufeff\n" + ring_all_reduce(3))
    assert hm.Schedule.load(path) == hm.algorithms.all_reduce_ring(3)
    read = interchange.read(path)
    assert (read.form, read.faults) == ("MSCCL XML", ())


def test_a_program_that_may_run_both_ways_must_be_right_both_ways() -> None:
    text = ring_all_reduce(3).replace('outofplace="0"', 'outofplace="1"')
    faults = msccl_xml.read(text, "'x.xml'").faults
    assert faults[0].rule == "missing_chunk"
    assert "o[0] of rank 0 holds nothing" in faults[0].message


def test_chunks_of_tacos_belong_to_ranks_in_turn() -> None:
    gpus = []
    for rank, peer in ((0, 1), (1, 0)):
        inward = Block(recv=peer).do("r", ("o", peer)).do("r", ("o", peer + 2))
        outward = Block(send=peer).do("s", ("o", rank)).do("s", ("o", rank + 2))
        gpus.append([inward, outward])
    schedule = msccl_xml.read(xml("allgather", 4, gpus, name="tacos"), "'x.xml'").schedule
    assert schedule.collective.owner.tolist() == [0, 1, 0, 1]
    assert hm.verify(schedule) == []


def test_an_input_that_the_file_copies_beforehand_is_in_the_output() -> None:
    gpus = [
        [Block(1, 1).do("s", ("o", 0)).do("r", ("o", 1))],
        [Block(0, 0).do("s", ("o", 1)).do("r", ("o", 0))],
    ]
    text = xml("allgather", 2, gpus, in_place=False)
    for rank in range(2):
        before = f'<gpu id="{rank}" i_chunks="2" o_chunks="2" s_chunks="0">'
        text = text.replace(before, f'{before}<copy i_off="0" o_off="{rank}"/>')
    read = msccl_xml.read(text, "'x.xml'")
    assert read.faults == ()
    assert hm.verify(read.schedule) == []
