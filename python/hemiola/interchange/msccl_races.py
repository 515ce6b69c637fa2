# SPDX-License-Identifier: Apache-2.0
"""Races of an MSCCL program: two steps of one GPU that use a place at once, because no dependency orders them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from hemiola.export.last_accesses import Access, Clock, LastAccesses
from hemiola.interchange.layout import Cell, Layout
from hemiola.interchange.msccl_order import Order
from hemiola.interchange.msccl_program import READS, SENDS, WRITES, Program, Step


class Race(NamedTuple):
    """Two steps that use one place at once, one of them to write."""

    cell: Cell
    first: int
    second: int


def find_race(program: Program, order: Order, layout: Layout) -> Race | None:
    """Return the first race of a run, as indices of steps; None where every order of the steps ends alike."""
    lines = {block: line for line, block in enumerate(program.blocks)}
    clocks = np.zeros((len(lines), len(lines)), np.int32)
    memory: LastAccesses[Cell] = LastAccesses()
    named = {(step.gpu, *step.waits_for) for step in program.steps if step.waits_for is not None}
    over: dict[tuple[int, int, int], Clock] = {}
    sent: dict[int, Clock] = {}
    for index in order.steps:
        step = program.steps[index]
        line = lines[step.gpu, step.block]
        clock = clocks[line]
        if index in order.message_of:
            np.maximum(clock, sent.pop(order.message_of[index]), out=clock)
        if step.waits_for is not None:
            np.maximum(clock, over[(step.gpu, *step.waits_for)], out=clock)
        clock[line] += 1
        race = next(_races(memory, step, layout, Access(line, int(clock[line]), index), clock), None)
        if race is not None:
            return race
        key = (step.gpu, step.block, step.index)
        if key in named:
            over[key] = clock.copy()
        if step.type in SENDS:
            sent[index] = clock.copy()
    return None


def _races(
    memory: LastAccesses[Cell], step: Step, layout: Layout, access: Access, clock: Clock
) -> Iterator[Race]:
    """Note the places that a step reads and writes; yield its races."""
    for at in range(step.count):
        if step.type in READS:
            cell = layout.cell(step.gpu, step.source[0], step.source[1] + at)
            yield from (Race(cell, one.step, access.step) for one in memory.read(cell, access, clock))
        if step.type in WRITES:
            cell = layout.cell(step.gpu, step.target[0], step.target[1] + at)
            yield from (Race(cell, one.step, access.step) for one in memory.write(cell, access, clock))
