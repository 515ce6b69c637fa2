# SPDX-License-Identifier: Apache-2.0
"""The exact form of an MSCCL program's run, for programs whose natural form is not right."""

from __future__ import annotations

from hemiola._core import Schedule
from hemiola.interchange.layout import Cell, Layout
from hemiola.interchange.msccl_order import Order
from hemiola.interchange.msccl_program import RECEIVES, SENDS, Program, Step
from hemiola.interchange.scratch_form import Hold, ScratchForm


def exact_schedule(program: Program, order: Order, layout: Layout, chunks: dict[int, list[int]]) -> Schedule:
    """Return the schedule of all steps with a slot for each place.

    chunks : for each step the chunks that it moves, as the abstract run has found them; -1 for one that is none.
    """
    form = ScratchForm(layout)
    sent: dict[tuple[int, int], Hold] = {}
    before = dict(layout.before()) if program.copies else {}
    for rank, input_offset, output_offset in program.copies:
        cells = layout.cell(rank, "i", input_offset), layout.cell(rank, "o", output_offset)
        if cells[0] != cells[1]:
            form.move(0, *cells, before[cells[0]], adds=False)
    for index in order.steps:
        step = program.steps[index]
        for at, chunk in enumerate(chunks.get(index, ())):
            if chunk < 0:
                continue
            hold = sent.pop((order.message_of[index], at)) if step.type in RECEIVES else None
            first = order.level[order.message_of[index]] if step.type in RECEIVES else 0
            source = layout.cell(step.gpu, step.source[0], step.source[1] + at)
            target = layout.cell(step.gpu, step.target[0], step.target[1] + at)
            result = _move(form, step, (source, target), chunk, hold, first)
            if step.type in SENDS:
                sent[index, at] = form.hold(result)
    return form.schedule()


def _move(
    form: ScratchForm, step: Step, cells: tuple[Cell, Cell], chunk: int, hold: Hold | None, first: int
) -> Cell:
    """Move one chunk as a step does; return the place of what the step may send."""
    source, target = cells
    if hold is None:
        if step.type == "s":
            return source
        if source != target or step.type == "re":
            form.move(0, source, target, chunk, adds=step.type == "re")
        return target
    arrives = form.passage(step.gpu) if step.type == "rrs" else target
    adds_in_place = step.type in ("rrc", "rrcs") and source == target
    form.move(first, hold.cell, arrives, chunk, adds=adds_in_place)
    form.release(hold)
    if step.type in ("rrs", "rrc", "rrcs") and not adds_in_place:
        form.move(0, source, arrives, chunk, adds=True)
    return arrives
