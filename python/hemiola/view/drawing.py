# SPDX-License-Identifier: Apache-2.0
"""`hemiola.draw`: a picture of a topology, schedule, plan, timeline, sweep, training step or arrivals."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hemiola._core import Schedule, ScheduleFile, Topology
from hemiola.algorithms.schedule_text import describe
from hemiola.arguments import typed
from hemiola.communicator.arrivals import Arrivals
from hemiola.environment.packages import require
from hemiola.errors import ArgumentError, ArgumentTypeError
from hemiola.planner import Plan
from hemiola.simulate import Timeline
from hemiola.sweep import Sweep
from hemiola.view.algorithm_time import AlgorithmTime
from hemiola.workload import WhatIf

if TYPE_CHECKING:
    from matplotlib.axes import Axes
else:
    Axes = Any  # Matplotlib may be absent, and is imported by who draws

#: In points, of figures of one and of two columns.
_FONT_SIZES = (7, 9)
#: Alternatives of a plan that are drawn, the fastest first.
_MOST_BARS = 12


@dataclass(frozen=True)
class _Picture:
    """What is drawn: a title, lines below it, the height over the width, and what paints it."""

    title: str
    told: Sequence[str]
    shape: float
    paint: Callable[[Axes], None]


@typed
def draw(
    subject: Topology | Schedule | Timeline | Plan | Sweep | WhatIf | Arrivals,
    ax: Axes | None = None,
    *,
    topology: Topology | None = None,
    columns: int = 2,
    bandwidth: bool = False,
) -> Axes:
    """Draw a topology, schedule, timeline, plan, sweep, training step or arrivals with Matplotlib.

    A small schedule is a panel per step with arrows between ranks; a larger one a matrix of ranks by steps. A timeline
    shows each rank's sending and waits, a plan its alternatives beside the bound, a sweep times over sizes, a
    training step the streams of its roles, arrivals the delays of the last rank.

    Parameters
    ----------
    subject : Topology, Schedule, Timeline, Plan, Sweep, WhatIf or Arrivals.
    ax : matplotlib.axes.Axes, optional; axes to draw into. None: those of a new figure, `Axes.figure`.
    topology : Topology, optional; where the ranks of a schedule stand. None: on a circle.
    columns : 1 or 2, how many of a paper's columns a new figure is wide: 3.5 or 7.2 inches.
    bandwidth : bool, of a sweep: draw sizes over times, in bytes per second, instead of times.

    Returns
    -------
    matplotlib.axes.Axes, those with the picture.

    Raises
    ------
    ArgumentTypeError
        The subject is of another type.
    ArgumentError
        There is nothing to draw, a topology has more than 1,024 ranks and switches, `topology` has another number of
        ranks than the schedule, `columns` is neither 1 nor 2, or `bandwidth` is asked for of anything but a sweep.
    MissingPackageError
        Matplotlib is not installed.

    Notes
    -----
    ``draw(x).figure.savefig("x.pdf")`` writes a file.
    """
    require("matplotlib")
    if columns not in (1, 2):
        raise ArgumentError(f"draw: expected columns to be 1 or 2, found {columns!r}")
    if bandwidth and not isinstance(subject, Sweep):
        raise ArgumentError(f"draw: expected a sweep with bandwidth=True, found a {type(subject).__name__}")
    picture = _picture_of(subject, topology, columns, bandwidth)
    if ax is not None:
        from matplotlib import axes as matplotlib_axes

        if not isinstance(ax, matplotlib_axes.Axes):
            raise ArgumentTypeError(f"draw(): ax: expected axes of Matplotlib, found {type(ax).__name__}")
        picture.paint(_titled(ax, picture))
        return ax
    from matplotlib import rc_context

    with rc_context({"font.size": _FONT_SIZES[columns - 1]}):
        axes = _new_axes(picture, columns)
        picture.paint(axes)
    return axes


def _picture_of(
    subject: Topology | Schedule | Timeline | Plan | Sweep | WhatIf | Arrivals,
    topology: Topology | None,
    columns: int,
    bandwidth: bool,
) -> _Picture:
    if isinstance(subject, Topology):
        return _topology(subject)
    if isinstance(subject, Schedule):
        return _schedule(subject, topology, columns)
    if isinstance(subject, Timeline):
        return _timeline(subject, columns)
    if isinstance(subject, Plan):
        return _plan(subject)
    if isinstance(subject, Sweep):
        return _sweep(subject, columns, bandwidth=bandwidth)
    if isinstance(subject, WhatIf):
        return _step(subject)
    return _arrivals(subject)


def _new_axes(picture: _Picture, columns: int) -> Axes:
    from hemiola.view import style

    width = style.ONE_COLUMN if columns == 1 else style.TWO_COLUMNS
    # A character is on average half as wide as it is high, and a little more in a title.
    letters = width * 72 / style.font_size()
    told = textwrap.fill("; ".join(picture.told), int(2 * letters))
    title = textwrap.fill(picture.title, int(1.3 * letters))
    height = 1.3 + 0.14 * (told + title).count("\n") + picture.shape * width
    _, axes = style.new_axes(width, height, title, told)
    return axes


def _titled(axes: Axes, picture: _Picture) -> Axes:
    axes.set_title("\n".join([picture.title, *picture.told]), loc="left", fontsize=9)
    return axes


def _topology(topology: Topology) -> _Picture:
    from hemiola.view.topology import laid_out, paint_topology, subtitle_of

    layout = laid_out(topology)
    span = np.ptp(layout.points, axis=0) + 2

    def paint(axes: Axes) -> None:
        # The legend takes about a quarter of the width.
        box, figure = axes.get_window_extent(), axes.get_figure()
        assert figure is not None
        inches = min(0.75 * box.width / span[0], box.height / span[1]) / figure.dpi
        paint_topology(axes, topology, layout, inches=inches)

    shape = float(min(0.75 * span[1] / span[0], 1.2))
    return _Picture(topology.name or "topology", [subtitle_of(topology)], shape, paint)


def _schedule(schedule: Schedule, topology: Topology | None, columns: int) -> _Picture:
    from hemiola.view.step_arrows import is_small, paint_arrows, panel_grid
    from hemiola.view.steps import paint_steps

    if topology is not None and topology.rank_count != schedule.rank_count:
        raise ArgumentError(
            f"draw: expected a topology of the schedule's {schedule.rank_count} ranks, found {topology.rank_count}"
        )
    title = f"{schedule.collective.kind} schedule"
    if is_small(schedule):
        rows, across = panel_grid(schedule.step_count, columns)
        return _Picture(
            title,
            [describe(schedule)],
            rows / across,
            lambda axes: paint_arrows(axes, schedule, topology, columns),
        )
    return _Picture(title, [describe(schedule)], 0.55, lambda axes: paint_steps(axes, schedule))


def _timeline(timeline: Timeline, columns: int) -> _Picture:
    from hemiola.view.timeline import MOST_ROWS, paint_timeline

    schedule, conditions = timeline.schedule, timeline.conditions
    assert not isinstance(schedule, ScheduleFile)  # `conditions` refuses one that stays in its file
    told = [f"{describe(schedule)}", *conditions.in_words()]
    shape = (0.05 if columns == 1 else 0.033) * min(schedule.rank_count, MOST_ROWS)
    return _Picture(
        f"{schedule.collective.kind}, simulated", told, shape,
        lambda axes: paint_timeline(axes, schedule, timeline, conditions),
    )  # fmt: skip


def _plan(plan: Plan) -> _Picture:
    from hemiola.view.times import paint_times

    shown = plan.alternatives[:_MOST_BARS]
    times = [AlgorithmTime(one.label, predicted_s=one.seconds) for one in shown]
    hidden = len(plan.alternatives) - len(shown)
    told = [
        *plan.conditions.in_words(),
        *([f"the best {len(shown)} of {len(plan.alternatives)}"] if hidden else []),
    ]
    title = repr(plan).strip("<>").partition(": ")[0].removeprefix("Plan ")
    where = f", {plan.topology_name}" if plan.topology_name else ""
    return _Picture(
        title + where, told, 0.05 * len(times), lambda axes: paint_times(axes, times, plan.bound_s)
    )


def _sweep(table: Sweep, columns: int, *, bandwidth: bool) -> _Picture:
    from hemiola.view.swept import swept

    made = swept(table, columns, bandwidth=bandwidth)
    return _Picture(made.title, made.told, made.shape, made.paint)


def _step(found: WhatIf) -> _Picture:
    from hemiola.view.training_step import MOST_ROWS, paint_step
    from hemiola.workload.bars import question_in_words, rows_of

    shape = 0.05 * min(MOST_ROWS, len(rows_of(found)))
    told = [question_in_words(found)]
    return _Picture(f"{found.name}: a step, predicted", told, shape, lambda axes: paint_step(axes, found))


def _arrivals(arrivals: Arrivals) -> _Picture:
    from hemiola.view.arrivals import paint_arrivals, refuse_none

    refuse_none(arrivals)
    told = [f"{arrivals.operation_count:,} operations of {len(arrivals.ranks)} ranks"]
    return _Picture("Delay of the last rank", told, 0.45, lambda axes: paint_arrivals(axes, arrivals))
