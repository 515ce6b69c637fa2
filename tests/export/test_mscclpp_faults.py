# SPDX-License-Identifier: Apache-2.0
"""Whatever is missing from a MSCCL++ plan is found, and a plan that no executor takes is refused with its place."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import exported
import plan_numbers
import pytest

import hemiola as hm
from hemiola.errors import FormatError
from hemiola.export.mscclpp import plan_data
from hemiola.export.mscclpp_clocks import races
from hemiola.export.mscclpp_document import read

SYNCHRONIZES = ("wait", "signal", "sem_acquire", "sem_release")


def without_each(document: dict[str, Any], names: tuple[str, ...]) -> Iterator[str]:
    """Drop each operation of these names, one at a time, from the document itself."""
    for gpu in document["gpus"]:
        for block in gpu["threadblocks"]:
            for place, operation in enumerate(list(block["ops"])):
                if operation["name"] in names:
                    block["ops"].pop(place)
                    yield operation["name"]
                    block["ops"].insert(place, operation)


def found_and_dropped(
    schedule: hm.Schedule, lanes: int | None, names: tuple[str, ...] = SYNCHRONIZES, *, balanced: bool
) -> Counter[tuple[str, bool]]:
    """Count for each name how often it was found to be missing, and how often not."""
    document = plan_data(schedule, lanes=lanes)
    assert races(read(document)) == []
    return Counter(
        (name, bool(races(read(document), balanced=balanced))) for name in without_each(document, names)
    )


@pytest.mark.parametrize("lanes", [1, None])
@pytest.mark.parametrize(
    "schedule",
    [
        hm.algorithms.all_reduce_ring(4),
        hm.algorithms.all_reduce_recursive_halving_doubling(4),
        hm.algorithms.all_to_all_bruck(3),
        hm.algorithms.all_reduce_double_binary_tree(3),
    ],
    ids=lambda schedule: f"{schedule.collective.kind} of {schedule.transfer_count}",
)
def test_every_dropped_wait_and_signal_is_found_by_the_clocks_alone(
    schedule: hm.Schedule, lanes: int | None
) -> None:
    """Also without counting what is left over in the end: the data's order is what a missing wait breaks."""
    tally = found_and_dropped(schedule, lanes, balanced=False)
    assert tally["wait", True] > 0
    assert tally["signal", True] > 0
    assert [key for key in tally if not key[1]] == []


def test_every_dropped_semaphore_is_found() -> None:
    names = ("sem_acquire", "sem_release")
    tally = found_and_dropped(hm.algorithms.all_reduce_ring(8), 1, names, balanced=True)
    assert tally["sem_acquire", True] > 0
    assert tally["sem_release", True] > 0
    assert [key for key in tally if not key[1]] == []


@pytest.mark.long
def test_every_dropped_wait_and_signal_of_a_synthesized_schedule_is_found() -> None:
    for _, schedule in exported.synthesized(5):
        tally = found_and_dropped(schedule, None, balanced=True)
        assert [key for key in tally if not key[1]] == []


def test_a_missing_meeting_of_threads_is_a_race() -> None:
    document = plan_data(hm.algorithms.all_reduce_ring(3), lanes=1)
    ops = document["gpus"][1]["threadblocks"][0]["ops"]
    first = next(place for place, each in enumerate(ops) if each["name"] == "re")
    assert ops.pop(first - 1) == {"name": "nop"}
    assert "rank 1's thread block 0 reads" in races(read(document))[0]


def test_a_message_into_memory_of_a_rank_that_may_not_have_started_is_a_race() -> None:
    document = plan_data(hm.algorithms.all_gather_ring(2), lanes=1)
    for gpu in document["gpus"]:
        ops = gpu["threadblocks"][0]["ops"]
        assert [each["name"] for each in ops[:3]] == ["signal", "wait", "nop"]
        del ops[:3]
    assert "perhaps before that rank has started" in races(read(document))[0]


def test_a_dropped_signal_lets_a_rank_wait_for_ever() -> None:
    document = plan_data(hm.algorithms.all_reduce_ring(3))
    ops = document["gpus"][0]["threadblocks"][0]["ops"]
    ops.remove(next(each for each in ops if each["name"] == "signal"))
    with pytest.raises(FormatError, match="wait for ever"):
        plan_numbers.faults(read(document), 1)


def test_a_wrong_chunk_is_a_wrong_result() -> None:
    document = plan_data(hm.algorithms.all_reduce_ring(3))
    ops = document["gpus"][0]["threadblocks"][0]["ops"]
    next(each for each in ops if each["name"] == "put")["src_buff"][0]["index"] = 2
    assert "ends with a wrong chunk" in plan_numbers.faults(read(document), 1)[0]


def first_block(document: Any) -> Any:
    return document["gpus"][0]["threadblocks"][0]


def put_of(document: Any) -> Any:
    return next(each for each in first_block(document)["ops"] if each["name"] == "put")


BROKEN: dict[str, tuple[Callable[[Any], Any], str]] = {
    "no gpus": (lambda d: d.pop("gpus"), "'gpus'"),
    "gpus no list": (lambda d: d.update(gpus=7), "expected a MSCCL++ plan"),
    "gpu out of order": (lambda d: d["gpus"].reverse(), "expected GPU 0 at place 0, found GPU 2"),
    "unknown operation": (lambda d: first_block(d)["ops"].append({"name": "push"}), "unknown operation 'push'"),
    "of a switch": (lambda d: first_block(d)["ops"].append({"name": "glres"}), "needs a switch"),
    "beyond the buffer": (lambda d: put_of(d)["src_buff"][0].update(index=3), "expected chunks below 3"),
    "below the buffer": (lambda d: put_of(d)["src_buff"][0].update(index=-1), "expected chunks below 3"),
    "of size 0": (lambda d: put_of(d)["src_buff"][0].update(size=0), "expected chunks below 3"),
    "no remote buffer": (lambda d: put_of(d)["dst_buff"][0].update(buffer_id=9), "expected a remote buffer"),
    "another buffer": (lambda d: put_of(d)["src_buff"][0].update(type="x"), "expected the buffer 'i', 'o' or 's'"),
    "no channel": (lambda d: first_block(d)["ops"][0].update(channel_ids=[16]), "expected a memory channel"),
    "no partner": (lambda d: d["gpus"][1]["channels"].clear(), "has no partner"),
    "no semaphore": (
        lambda d: first_block(d)["ops"].append({"name": "sem_release", "semaphore_ids": [0]}),
        "expected a semaphore below 0",
    ),
    "too long": (lambda d: first_block(d)["ops"].extend([{"name": "nop"}] * 64), "at most 64 operations"),
    "too many channels": (
        lambda d: first_block(d)["channels"][0].update(channel_ids=[0] * 17), "at most 16 channels"
    ),
    "too many at once": (
        lambda d: first_block(d)["ops"][0].update(channel_ids=[0] * 9), "at most 8 channels"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_plan_that_no_executor_takes_is_refused_with_its_place(name: str) -> None:
    document = json.loads(json.dumps(plan_data(hm.algorithms.all_reduce_ring(3))))
    breaks, words = BROKEN[name]
    breaks(document)
    with pytest.raises(FormatError) as caught:
        read(document, "'x.json'")
    assert words in str(caught.value)
    assert str(caught.value).startswith("'x.json'")


def test_shared_operations_barriers_and_packets_are_emulated() -> None:
    """Two thread blocks of each of two ranks exchange halves of a chunk by packets, meet, and copy it out together."""
    operand = {"index": 0, "size": 1}
    blocks = [
        {
            "id": part,
            "ops": [
                {
                    "name": "ppkt", "src_buff": [{"type": "i", **operand}], "dst_buff": [{"buffer_id": 0, **operand}],
                    "channel_type": "memory", "tbg_info": {"tb_id": part, "tbg_size": 2},
                },
                {
                    "name": "repkt", "dst_buff": [{"type": "i", **operand}],
                    "src_buff": [{"type": "i", **operand}, {"type": "s", **operand}],
                    "tbg_info": {"tb_id": part, "tbg_size": 2},
                },
                {"name": "barrier", "barrier_id": 0, "num_threadblocks": 2},
            ],
            "channels": [],
            "remote_buffer_refs": [{"access_channel_type": "memory", "remote_buffer_ids": [0]}],
        }
        for part in range(2)
    ]  # fmt: skip
    gpus = [
        {
            "id": rank, "input_chunks": 1, "output_chunks": 1, "scratch_chunks": 1, "threadblocks": blocks,
            "channels": [{"channel_type": "memory", "connected_to": [1 - rank]}],
            "remote_buffers": [{"rank": 1 - rank, "type": "s", "access_channel_types": ["memory"]}],
        }
        for rank in range(2)
    ]  # fmt: skip
    plan = read({"name": "x", "collective": "allreduce", "inplace": True, "gpus": gpus})
    assert plan.parts == 2
    assert plan_numbers.faults(plan, 30) == []
    assert races(plan) == []
