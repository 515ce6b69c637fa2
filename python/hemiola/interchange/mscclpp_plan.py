# SPDX-License-Identifier: Apache-2.0
"""MSCCL++'s execution plans: judged by a run on chunks, and made a schedule."""

from __future__ import annotations

from typing import Any

from hemiola._core import verify
from hemiola.export import mscclpp_document
from hemiola.export.mscclpp_clocks import races
from hemiola.export.mscclpp_document import ExecutionPlan, Operation
from hemiola.export.mscclpp_run import Run
from hemiola.interchange.artefact import Artefact, Fault
from hemiola.interchange.contents import Contents
from hemiola.interchange.layout import KINDS, Layout
from hemiola.interchange.mscclpp_chunks import ChunkWork
from hemiola.interchange.scratch_form import ScratchForm
from hemiola.topology.place import Place, quote

FORM = "MSCCL++ plan"
#: Pieces of chunks on all ranks together, and those that operations move.
_MOST_PIECES = 1 << 22
#: Thread blocks times thread blocks and ranks: the judge of races has a clock for each.
_MOST_TIMES = 1 << 25


def is_plan(document: dict[str, Any]) -> bool:
    """Return whether a JSON object is an execution plan of MSCCL++."""
    return "gpus" in document and "collective" in document


def read(document: dict[str, Any], source: str) -> Artefact:
    """Read and run a plan; raise FormatError where it is malformed, its run does not end, or promises nothing known."""
    plan, place = mscclpp_document.read(document, source), Place(source)
    _check_work(plan, place)
    layout = _layout(plan, place)
    contents = _contents(plan, layout, None, place)
    if plan.collective not in KINDS:
        place.fail(
            f"the collective is {quote(plan.collective)}, of which nothing is promised; its run ends. Read are "
            f"{', '.join(KINDS)}"
        )
    steps = contents.step_count
    faults = (*(Fault("race", steps, 0, 0, found) for found in races(plan, most=1)), *contents.faults())
    schedule = contents.schedule()
    if not faults and verify(schedule, max_violations=1):
        form = ScratchForm(layout)
        _contents(plan, layout, form, place)
        schedule = form.schedule()
    return Artefact(FORM, schedule, faults, place)


def _contents(plan: ExecutionPlan, layout: Layout, form: ScratchForm | None, place: Place) -> Contents:
    """Run a plan on chunks; raise FormatError where thread blocks wait for ever."""
    work = ChunkWork(plan, layout, form)
    run = Run(plan, work)
    if not run.go():
        place.fail(run.standing())
    return work.contents


def _check_work(plan: ExecutionPlan, place: Place) -> None:
    """Refuse a plan that would take too long, and shares of operations that cannot be."""
    times = len(plan.blocks) * (len(plan.blocks) + plan.rank_count)
    if times > _MOST_TIMES:
        place.fail(f"expected fewer thread blocks and ranks, found {len(plan.blocks)} and {plan.rank_count}")
    moved = 0
    for block in plan.blocks:
        for at, operation in enumerate(block.operations):
            if not 0 <= operation.part < operation.parts:
                place.fail(
                    f"rank {block.rank}, thread block {block.number}, operation {at}: expected a share below "
                    f"{operation.parts}, found {operation.part}"
                )
            moved += sum(span.size for span in (*operation.reads, *operation.writes)) * plan.parts
            _check_operands(
                operation, f"rank {block.rank}, thread block {block.number}, operation {at}", place
            )
    if moved > _MOST_PIECES:
        place.fail(f"expected operations that move at most {_MOST_PIECES} pieces of chunks, found {moved}")


def _check_operands(operation: Operation, where: str, place: Place) -> None:
    """Refuse an operation without operands, and one whose operands have different sizes."""
    if operation.name not in mscclpp_document.MEANINGS:
        return
    sums = mscclpp_document.MEANINGS[operation.name].sums
    reads, writes = [span.size for span in operation.reads], [span.size for span in operation.writes]
    fits = (
        len({*reads, *writes}) == 1
        if sums
        else all(reads[min(at, len(reads) - 1)] == size for at, size in enumerate(writes) if reads)
    )
    if not reads or not writes or not fits:
        place.fail(
            f"{where} ({operation.name}): expected operands of one size, found {reads} and {writes} chunks"
        )


def _layout(plan: ExecutionPlan, place: Place) -> Layout:
    """Return the layout of the plan's pieces; the sizes of buffers must be those of the collective."""
    ranks = plan.rank_count
    inputs, outputs = set(plan.input_chunks), set(plan.output_chunks)
    kind = KINDS.get(plan.collective)
    if kind is None:
        return Layout("all_reduce", max(ranks, 1), 1, plan.in_place)
    if len(inputs) != 1 or len(outputs) != 1:
        place.fail(f"expected buffers of one size on all ranks, found inputs of {sorted(inputs)} chunks")
    given, made = max(inputs, default=0), max(outputs, default=0)
    total = made if kind == "all_gather" else given
    if ranks < 1 or total < 1:
        place.fail(f"expected ranks and chunks, found {ranks} ranks and {total} chunks")
    wanted = {"all_gather": given * ranks, "reduce_scatter": given // ranks}.get(kind, given)
    if made != wanted:
        place.fail(
            f"expected an output of {wanted} chunks for {plan.collective} of {given} chunks, found {made}"
        )
    if kind != "all_reduce" and total % ranks:
        place.fail(f"expected chunks as a multiple of the {ranks} ranks, found {total}")
    pieces = plan.parts * sum(sum(plan.sizes(rank).values()) for rank in range(ranks))
    if pieces > _MOST_PIECES:
        place.fail(f"expected at most {_MOST_PIECES} pieces of chunks on all ranks together, found {pieces}")
    return Layout(kind, ranks, total * plan.parts, plan.in_place)
