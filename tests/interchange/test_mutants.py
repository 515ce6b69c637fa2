# SPDX-License-Identifier: Apache-2.0
"""Broken programs: the verdict is that of the program's own run on a machine, whatever order its thread blocks take."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from artefacts import CHANGES, STEP, broken, compared
from interchange.msccl_files import RIGHT


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(RIGHT)), st.sampled_from(CHANGES), st.data())
def test_a_program_with_one_wrong_step_gets_the_verdict_of_the_machine(
    name: str, change: str, data: st.DataObject
) -> None:
    text = RIGHT[name]
    step = data.draw(st.sampled_from(list(STEP.finditer(text))))
    mutant = text[: step.start()] + broken(step.group(), change) + text[step.end() :]
    assert not compared(mutant, orders=4).isupper()


def test_a_dropped_dependency_is_found_as_a_race() -> None:
    text = RIGHT["all pairs of 4"]
    dependent = next(step for step in STEP.finditer(text) if 'type="nop"' in step.group())
    mutant = (
        text[: dependent.start()] + broken(dependent.group(), "depend on nothing") + text[dependent.end() :]
    )
    assert compared(mutant, orders=1) in (
        "a race that the machine's orders do not show",
        "wrong, and so on the machine",
    )
