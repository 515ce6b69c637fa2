# SPDX-License-Identifier: Apache-2.0
"""How gradients travel, bucket by bucket: whole, without zeros, or with eight bits an element."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hemiola.errors import ArgumentError
from hemiola.workload.task import Call, Step

#: Of a bucket, beside a density.
WHOLE, EIGHT_BITS = "whole", "8bit"
#: Sums over these classes of groups are those of gradients.
CLASSES = ("dp", "edp", "world")
_SUMS = ("all_reduce", "reduce_scatter")
#: Of an element where a trace does not tell its type.
_ASSUMED_BYTES = 4

#: A bucket's number, or a class of groups; and a density, "8bit" or "whole".
Buckets = Mapping[int | str, float | str]


@dataclass(frozen=True)
class Form:
    """The form of a bucket: the share of its elements that are not zero, and whether they have eight bits."""

    density: float = 1.0
    quantized: bool = False


def sent_as(step: Step, usual: Form, buckets: Buckets) -> Step:
    """Return a step whose gradients travel as said.

    Parameters
    ----------
    step : Step.
    usual : Form, of all buckets that are not named.
    buckets : mapping of buckets to a density, "8bit" or "whole". A key is a number, or a class of groups: "dp", "edp"
        or "world". A stage counts its buckets from 0 on, in their order. A number counts before a class.

    Returns
    -------
    Step

    Raises
    ------
    ArgumentError
        A key is no bucket of the step and no class, or a value is of another form.
    """
    forms = {which: _form(told) for which, told in buckets.items()}
    counts: dict[str, int] = defaultdict(int)
    tasks = []
    for task in step.tasks:
        if task.call is not None and task.call.kind in _SUMS and task.call.group in CLASSES:
            number = counts[task.roles[0]]
            form = forms.get(number, forms.get(task.call.group, usual))
            counts[task.roles[0]] += 1
            task = replace(task, call=_sent(task.call, form, step.element_bytes or _ASSUMED_BYTES))
        tasks.append(task)
    _check_keys(step.name, buckets, max(counts.values(), default=0))
    is_assumed = not step.element_bytes and any(form.quantized for form in (usual, *forms.values()))
    told = (f"Elements of the trace's gradients are taken to have {_ASSUMED_BYTES} bytes.",) * is_assumed
    return replace(step, tasks=tuple(tasks), assumptions=(*step.assumptions, *told))


def _form(told: float | str) -> Form:
    if told in (WHOLE, EIGHT_BITS):
        return Form(quantized=told == EIGHT_BITS)
    if isinstance(told, str) or not 0 < told <= 1:
        raise ArgumentError(
            f"buckets: expected a density above 0 and at most 1, '{EIGHT_BITS}' or '{WHOLE}', found {told!r}"
        )
    return Form(float(told))


def _sent(call: Call, form: Form, element_bytes: int) -> Call:
    nbytes = call.nbytes // element_bytes if form.quantized else call.nbytes
    return replace(call, nbytes=nbytes, density=form.density)


def _check_keys(name: str, buckets: Buckets, count: int) -> None:
    for which in buckets:
        if which in CLASSES or (isinstance(which, int) and 0 <= which < count):
            continue
        numbers = f"numbers from 0 to {count - 1:,}" if count else "no numbers, as no gradients are sent"
        raise ArgumentError(
            f"buckets of '{name}': expected {numbers}, or classes out of {', '.join(CLASSES)}; found {which!r}"
        )
