# SPDX-License-Identifier: Apache-2.0
"""MSCCL's XML: the abstract run of its steps, and the schedule that this makes."""

from __future__ import annotations

from hemiola._core import verify
from hemiola.interchange.artefact import Artefact, Fault
from hemiola.interchange.contents import NOTHING, Contents, Value
from hemiola.interchange.layout import Cell, Layout
from hemiola.interchange.msccl_order import Order, order_of
from hemiola.interchange.msccl_program import ADDS, RECEIVES, SENDS, Program, Step, read_program
from hemiola.interchange.msccl_races import Race, find_race
from hemiola.interchange.msccl_scratch import exact_schedule
from hemiola.topology.place import Place

FORM = "MSCCL XML"


def read(text: str, source: str) -> Artefact:
    """Read and run a file; raise FormatError where it is malformed, waits in a circle, or its run cannot go on."""
    program = read_program(text, source)
    order = order_of(program)
    runs = [_Run(program, order, layout) for layout in program.modes]
    for run in runs:
        run.run()
    faults = next((found for run in runs if (found := run.faults())), ())
    schedule = runs[0].contents.schedule()
    if not faults and verify(schedule, max_violations=1):
        schedule = exact_schedule(program, order, program.modes[0], runs[0].chunks)
    return Artefact(FORM, schedule, faults, program.place)


class _Run:
    """One run of all steps, in an order that they keep."""

    def __init__(self, program: Program, order: Order, layout: Layout) -> None:
        self._program, self._order, self._layout = program, order, layout
        self._sent: dict[int, list[Value]] = {}
        self._stumbled: tuple[Place, str] | None = None
        self.chunks: dict[int, list[int]] = {}
        self.contents = Contents(layout)
        for rank, source, target in program.copies:
            self.contents.put(
                layout.cell(rank, "o", target), self.contents.get(layout.cell(rank, "i", source))
            )

    def run(self) -> None:
        """Run every step; the contents are then those of the end."""
        for index in self._order.steps:
            step = self._program.steps[index]
            if step.type != "nop":
                arrived = self._arrived(index, step)
                values = [self._value(step, at, arrived) for at in range(step.count)]
                self.chunks[index] = [value.chunk for value in values]
                if step.type in SENDS:
                    self._sent[index] = values

    def faults(self) -> tuple[Fault, ...]:
        """Return the run's faults: a race, by which another run may end otherwise, and what is wrong in the end.

        Raise FormatError where the end is wrong and a step has used a value that is none.
        """
        race = find_race(self._program, self._order, self._layout)
        wrong = self.contents.faults()
        if wrong and race is None and self._stumbled is not None:
            place, message = self._stumbled
            place.fail(message)
        return (*(() if race is None else (self._race(race),)), *wrong)

    def _race(self, race: Race) -> Fault:
        first, second = self._program.steps[race.first], self._program.steps[race.second]
        rank, buffer, offset = race.cell
        message = (
            f"{second} in line {second.place.line} uses {buffer}[{offset}] while {first} in line {first.place.line} "
            "does, and one of them writes it: no dependency orders them"
        )
        return Fault("race", self.contents.step_count, rank, self.chunks[race.second][0], message)

    def _arrived(self, index: int, step: Step) -> list[Value]:
        """Return a message's values as transfers have brought them; [] for a step that receives nothing."""
        if step.type not in RECEIVES:
            return []
        sender = self._order.message_of[index]
        src = self._program.steps[sender].gpu
        return [
            self.contents.send(value, self._order.level[sender], src, step.gpu, adds=step.type in ADDS)
            for value in self._sent.pop(sender)
        ]

    def _value(self, step: Step, at: int, arrived: list[Value]) -> Value:
        """Return what a step makes of its chunk number `at`, after it is written where the step writes."""
        source = self._layout.cell(step.gpu, step.source[0], step.source[1] + at)
        target = self._layout.cell(step.gpu, step.target[0], step.target[1] + at)
        if step.type in ("s", "cpy"):
            value = self._get(step, source)
        elif step.type in ("r", "rcs"):
            value = arrived[at]
        elif step.type == "re":
            value = self._sum(step, self._get(step, target), self._get(step, source))
        else:
            value = self._sum(step, self._get(step, source), arrived[at])
        if step.type not in ("s", "rrs"):
            self.contents.put(target, value)
        return value

    def _get(self, step: Step, cell: Cell) -> Value:
        value = self.contents.get(cell)
        if value is NOTHING:
            self._stumble(step, f"{step} reads {cell[1]}[{cell[2]}], which holds nothing yet")
        return value

    def _sum(self, step: Step, left: Value, right: Value) -> Value:
        if left.chunk != right.chunk:
            self._stumble(step, f"{step} adds chunk {right.chunk} to chunk {left.chunk}")
        return self.contents.add(left, right)

    def _stumble(self, step: Step, message: str) -> None:
        """Keep the first use of a value that is none: it explains an end that is wrong."""
        if self._stumbled is None:
            self._stumbled = step.place, message
