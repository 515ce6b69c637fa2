# SPDX-License-Identifier: Apache-2.0
"""A recorded step without the time that its profiler has taken."""

from __future__ import annotations

from dataclasses import replace

from hemiola.errors import ArgumentError
from hemiola.units import format_seconds
from hemiola.workload.model import Model
from hemiola.workload.task import Step


def untraced(step: Model | Step, seconds: float) -> Step:
    """Return a step whose computation is as much shorter as the recorded step is longer than one without a profiler.

    Parameters
    ----------
    step : Step of a trace; anything else is refused.
    seconds : float > 0, of the step on the same ranks without the profiler.

    Returns
    -------
    Step

    Raises
    ------
    ArgumentError
        The step's recorded length is not known, or the profiler would have taken more than its computation.

    Notes
    -----
    The profiler takes time for each operator. That is taken off all computation alike.
    """
    if not isinstance(step, Step) or not step.recorded_s:
        raise ArgumentError(
            f"whatif: expected a trace of PyTorch's profiler beside untraced_s, found '{step.name}'; leave "
            "untraced_s out"
        )
    compute_s = sum(task.seconds for task in step.tasks if task.call is None)
    taken_s = max(0.0, step.recorded_s - seconds)
    if taken_s >= compute_s:
        raise ArgumentError(
            f"whatif: expected untraced_s of at least {format_seconds(step.recorded_s - compute_s)}, for which the "
            f"recorded step of {format_seconds(step.recorded_s)} waits; found {format_seconds(seconds)}"
        )
    left = 1 - taken_s / compute_s
    tasks = tuple(
        task if task.call is not None else replace(task, seconds=task.seconds * left) for task in step.tasks
    )
    told = f"The profiler's {format_seconds(taken_s)} of the recorded step are taken off its computation."
    return replace(step, tasks=tasks, assumptions=(*step.assumptions, told))
