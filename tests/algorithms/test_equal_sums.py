# SPDX-License-Identifier: Apache-2.0
"""After an all-reduce every rank holds the same sum of each chunk: the same additions, grouped alike, whichever
operand comes first. Operations are commutative to the last bit (tests/runtime/executor/combine_test.cpp). So all ranks
get equal bits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import hemiola as hm
from all_reduce_schedules import SCHEDULES


def differing_chunks(schedule: hm.Schedule) -> list[int]:
    """Return the chunks of which two ranks hold sums that are grouped differently."""
    sums: dict[object, int] = {}
    held: dict[tuple[int, int, int], int] = {}

    def numbered(key: object) -> int:
        return sums.setdefault(key, len(sums))

    def value(rank: int, chunk: int, slot: int) -> int:
        return held.get((rank, chunk, slot), numbered((rank, chunk)))

    for step in steps(schedule):
        before = [value(src, chunk, src_slot) for src, _, chunk, _, src_slot, _ in step]
        for sent, (_, dst, chunk, reduce, _, dst_slot) in sorted(
            zip(before, step, strict=True), key=lambda one: one[1][0]
        ):
            there = value(dst, chunk, dst_slot)
            held[dst, chunk, dst_slot] = numbered((min(sent, there), max(sent, there))) if reduce else sent
    ranks = range(schedule.rank_count)
    return [
        chunk for chunk in range(schedule.chunk_count) if len({value(rank, chunk, 0) for rank in ranks}) > 1
    ]


def steps(schedule: hm.Schedule) -> Iterator[list[tuple[int, int, int, bool, int, int]]]:
    rows = schedule.transfers
    names = rows.dtype.names
    slots = [rows[name].tolist() if name in names else [0] * len(rows) for name in ("src_slot", "dst_slot")]
    columns = [rows[name].tolist() for name in ("src", "dst", "chunk", "reduce")] + slots
    step: list[tuple[int, int, int, bool, int, int]] = []
    number = None
    for at, row in zip(rows["step"].tolist(), zip(*columns, strict=True), strict=True):
        if at != number and step:
            yield step
            step = []
        number = at
        step.append(row)
    if step:
        yield step


@pytest.mark.parametrize("name", list(SCHEDULES))
def test_all_ranks_hold_the_same_sum(name: str) -> None:
    found = SCHEDULES[name]
    seen = 0
    for n in (*range(2, 10), 12, 16):
        for schedule in found(n):
            assert hm.verify(schedule) == []
            assert differing_chunks(schedule) == [], f"{n} ranks"
            seen += 1
    assert seen > 0


def test_sums_that_are_grouped_differently_are_seen() -> None:
    """Each of three ranks adds the others' values to its own: 0+1+2, 1+0+2 and 2+0+1."""
    pairs = [(src, dst) for src in range(3) for dst in range(3) if src != dst]
    rows = [(0, src, dst, chunk, True) for src, dst in pairs for chunk in range(3)]
    schedule = hm.Schedule.from_transfers(hm.Collective.make("all_reduce", 3, 3), rows)
    assert hm.verify(schedule) == []
    assert differing_chunks(schedule) == [0, 1, 2]
