# SPDX-License-Identifier: Apache-2.0
"""Races of an MSCCL program: two steps of one GPU that use a place at once, because no dependency orders them."""

from __future__ import annotations

from hemiola.interchange.layout import Layout
from hemiola.interchange.msccl_order import Order
from hemiola.interchange.msccl_program import READS, SENDS, WRITES, Program, Step
from hemiola.interchange.races import Clock, Clocks, Race


def find_race(program: Program, order: Order, layout: Layout) -> Race | None:
    """Return the first race of a run, as indices of steps; None where every order of the steps ends alike."""
    lines = {block: line for line, block in enumerate(program.blocks)}
    clocks = Clocks(len(lines))
    named = {(step.gpu, *step.waits_for) for step in program.steps if step.waits_for is not None}
    over: dict[tuple[int, int, int], Clock] = {}
    sent: dict[int, Clock] = {}
    for index in order.steps:
        step = program.steps[index]
        line = lines[step.gpu, step.block]
        after = [sent.pop(order.message_of[index])] if index in order.message_of else []
        if step.waits_for is not None:
            after.append(over[(step.gpu, *step.waits_for)])
        clocks.begin(line, after)
        _note(clocks, line, step, layout, index)
        key = (step.gpu, step.block, step.index)
        if key in named:
            over[key] = clocks.now(line)
        if step.type in SENDS:
            sent[index] = clocks.now(line)
        if clocks.race is not None:
            return clocks.race
    return None


def _note(clocks: Clocks, line: int, step: Step, layout: Layout, index: int) -> None:
    """Note the places that a step reads and writes."""
    for at in range(step.count):
        if step.type in READS:
            clocks.read(line, layout.cell(step.gpu, step.source[0], step.source[1] + at), index)
        if step.type in WRITES:
            clocks.write(line, layout.cell(step.gpu, step.target[0], step.target[1] + at), index)
