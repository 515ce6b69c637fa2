# SPDX-License-Identifier: Apache-2.0
"""Where the bytes of a device's messages come from, by hand for a ring, and against values that tell it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from of_pytorch import needs_triton
from recorded_queue import RecordedQueue, run_all
from test_device_programs import BLOCK, BLOCKS, SCHEDULES

import hemiola as hm
from hemiola.torch.device_executor import DeviceProgram
from hemiola.torch.device_origins import Origin, _Memory, message_origins
from hemiola.torch.device_queue import DeviceMessage


def test_sums_in_a_ring_have_one_rank_more_at_each_hop_and_then_all() -> None:
    n, elements = 4, 40
    for rank, messages in enumerate(message_origins(hm.algorithms.all_reduce_ring(n), elements, 4)):
        assert len(messages) == 2 * 2 * (n - 1)
        ranks = [part.ranks.bit_count() for message in messages for part in message]
        assert ranks == [1, 1, 2, 2, 3, 3, *[n] * 6], rank
        assert {part.nbytes for message in messages for part in message} == {4 * elements // n}
        assert {part.place for message in messages for part in message} == {0, 40, 80, 120}


def test_memory_is_that_of_one_byte_after_the_other() -> None:
    seed = random.randrange(1 << 30)
    made, memory, plain = random.Random(seed), _Memory(), [(0, 0)] * 60
    for _ in range(300):
        begin = made.randrange(50)
        parts = [
            Origin(made.randint(1, 3), made.randrange(100), made.randint(1, 7))
            for _ in range(made.randint(1, 3))
        ]
        memory.write(begin, parts)
        bytes_of = [(part.place + i, part.ranks) for part in parts for i in range(part.nbytes)]
        plain[begin : begin + len(bytes_of)] = bytes_of
        low, size = made.randrange(30), made.randint(1, 29)
        found = [
            (part.place + i if part.ranks else 0, part.ranks)
            for part in memory.read(low, size)
            for i in range(part.nbytes)
        ]
        assert found == plain[low : low + size], f"seed {seed}"


def noting(queued: list[Any], seen: list[list[torch.Tensor]]) -> Iterator[Any]:
    """Put before and behind each group what notes its messages: those sent before, those received behind it."""
    for each in queued:
        if not isinstance(each, list):
            yield each
            continue
        row = [torch.empty(0)] * len(each)
        seen.append(row)
        yield note, (each, row, True)
        yield each
        yield note, (each, row, False)


def note(messages: list[DeviceMessage], row: list[torch.Tensor], sending: bool) -> None:
    for place, message in enumerate(messages):
        if message.sending == sending:
            row[place] = message.memory.view(torch.int64).clone()


@needs_triton
@pytest.mark.parametrize("name", SCHEDULES)
def test_elements_of_messages_are_where_they_are_said_to_come_from(name: str) -> None:
    schedule = SCHEDULES[name]()
    n = schedule.rank_count
    brings, gets = BLOCKS.get(schedule.collective.kind, (1, 1))
    size = (brings or n) * BLOCK
    origins = message_origins(schedule, BLOCK, 8)
    queues = []
    for rank in range(n):
        # A place, and in a sum each rank's in a byte of its own.
        input = (torch.arange(size) + 1 << 8 * rank).to(torch.int64)
        output = torch.zeros((gets or n) * BLOCK, dtype=torch.int64)
        queue = RecordedQueue()
        DeviceProgram(schedule, rank, BLOCK, torch.int64).on(queue, input, output).run()
        queues.append(queue)
    rows: list[list[list[torch.Tensor]]] = [[] for _ in queues]
    for queue, seen in zip(queues, rows, strict=True):
        queue.queued = list(noting(queue.queued, seen))
    run_all(queues)
    for rank in range(n):
        messages = [message for row in rows[rank] for message in row]
        assert len(messages) == len(origins[rank]) > 0
        for found, parts in zip(messages, origins[rank], strict=True):
            right = [
                sum((part.place // 8 + i + 1) << 8 * one for one in range(n) if part.ranks >> one & 1)
                for part in parts
                for i in range(part.nbytes // 8)
            ]
            assert found.tolist() == right, (rank, parts)
