# SPDX-License-Identifier: Apache-2.0
"""The table of a sweep as times over sizes; where all rows have one size, as bars or as a row of marks per question."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hemiola.environment.packages import require

require("matplotlib")

from matplotlib.axes import Axes

from hemiola.errors import ArgumentError
from hemiola.sweep import Row, StepRow, Sweep
from hemiola.sweep.sweeping import NO_CONDITIONS
from hemiola.units import format_bytes
from hemiola.view import style
from hemiola.view.algorithm_time import AlgorithmTime, refuse_not_finite
from hemiola.view.sizes import Panel, paint_sizes, shape_of
from hemiola.view.times import paint_times

#: More than this no page of a paper holds.
_MOST_PANELS, _MOST_ROWS, _MOST_LINES = 12, 40, 12


@dataclass(frozen=True)
class Swept:
    """The words above the picture, its height over its width, and what paints it."""

    title: str
    told: Sequence[str]
    shape: float
    paint: Callable[[Axes], None]


def swept(table: Sweep, columns: int, *, bandwidth: bool = False) -> Swept:
    """Choose the picture of a table; raise ArgumentError for one without times, or with more than a page holds."""
    rows = [row for row in table.rows if row.seconds is not None]
    if not rows:
        raise ArgumentError(
            f"expected a sweep with at least one time to draw, found {len(table):,} predictions and none possible"
        )
    for row in rows:
        refuse_not_finite([row.seconds, row.bound_s], f"'{row.algorithm}' at {format_bytes(row.nbytes)}")
    labels = _fastest(rows)
    parts: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if row.algorithm in labels:
            parts.setdefault((row.collective, row.topology, _situation(row)), []).append(row)
    shared = [len({part[place] for part in parts}) == 1 for place in range(3)]
    named = {_joined(part, shared, False) or part[0]: found for part, found in parts.items()}
    is_of_steps = isinstance(rows[0], StepRow)  # the training says their bytes
    if bandwidth and is_of_steps:
        raise ArgumentError("draw: expected a sweep of collectives with bandwidth=True, found training steps")
    sizes = [] if is_of_steps else sorted({row.nbytes for row in rows})
    refuse_many(len(parts), len(sizes))
    kind, *where = (word if shared[place] else "" for place, word in enumerate(next(iter(parts))))
    told = [word for word in where if word]
    told += [f"{format_bytes(sizes[0])}"] if len(sizes) == 1 else []
    told += [f"{table.network} network", *_left_out(table, rows, labels)]
    if len(sizes) > 1 or bandwidth:
        shape, paint = _over_sizes(named, columns, bandwidth=bandwidth)
    else:
        shape, paint = _of_one_size(named)
    return Swept(
        f"{kind or ('Training steps' if is_of_steps else 'Collectives')}, predicted", told, shape, paint
    )


def _situation(row: Row) -> str:
    return "no conditions" if row.conditions == NO_CONDITIONS else row.conditions


def _joined(part: tuple[str, ...], shared: Sequence[bool], wanted: bool) -> str:
    return ", ".join(
        word for word, is_shared in zip(part, shared, strict=True) if word and is_shared == wanted
    )


def _fastest(rows: Sequence[Row]) -> list[str]:
    """Pick the algorithms to draw: those that come nearest to the fastest in some question."""
    best: dict[tuple[object, ...], float] = {}
    for row in rows:
        question = (row.topology, row.collective, row.conditions, row.nbytes)
        best[question] = min(best.get(question, math.inf), _seconds(row))
    behind: dict[str, float] = {}
    for row in rows:
        least_s = best[row.topology, row.collective, row.conditions, row.nbytes]
        over = _seconds(row) / least_s if least_s else 1.0
        behind[row.algorithm] = min(behind.get(row.algorithm, math.inf), over)
    chosen = sorted(behind, key=lambda label: behind[label])[:_MOST_LINES]
    return [label for label in behind if label in chosen]


def _left_out(table: Sweep, rows: Sequence[Row], labels: Sequence[str]) -> list[str]:
    count = len({row.algorithm for row in rows})
    absent = len(table) - len(rows)
    return [
        *([f"the best {len(labels)} of {count} algorithms"] if count > len(labels) else []),
        *([f"{absent:,} of {len(table):,} predictions not possible"] if absent else []),
    ]


def refuse_many(part_count: int, size_count: int) -> None:
    """Raise ArgumentError for more topologies × collectives × conditions than one picture holds."""
    most = _MOST_PANELS if size_count > 1 else _MOST_ROWS
    if part_count > most:
        raise ArgumentError(
            f"expected a sweep of at most {most} topologies × collectives × conditions to draw, found {part_count:,}; "
            "draw a part: Sweep(rows, network)"
        )


def _over_sizes(
    parts: dict[str, list[Row]], columns: int, *, bandwidth: bool
) -> tuple[float, Callable[[Axes], None]]:
    panels = [_panel(title, rows) for title, rows in parts.items()]
    return (
        shape_of(len(panels), columns),
        lambda axes: paint_sizes(axes, panels, columns=columns, bandwidth=bandwidth),
    )


def _panel(title: str, rows: Sequence[Row]) -> Panel:
    times: dict[str, dict[int, float]] = {}
    for row in rows:
        times.setdefault(_label(row), {})[row.nbytes] = _seconds(row)
    return Panel(title, times, {row.nbytes: row.bound_s for row in rows if row.bound_s is not None})


def _of_one_size(parts: dict[str, list[Row]]) -> tuple[float, Callable[[Axes], None]]:
    if len(parts) == 1:
        (rows,) = parts.values()
        times = [AlgorithmTime(_label(row), predicted_s=row.seconds) for row in rows]
        return 0.05 * len(times), lambda axes: paint_times(axes, times, rows[0].bound_s)
    return 0.05 * len(parts), lambda axes: _paint_rows(axes, parts)


def _paint_rows(axes: Axes, parts: dict[str, list[Row]]) -> None:
    """Paint a row for each question with a mark for each algorithm's time, and the bound's as an upright stroke."""
    found = [row for rows in parts.values() for row in rows]
    factor, unit = style.time_unit(_seconds(row) for row in found)
    looks = style.looks_of(_label(row) for row in found)
    for label, look in looks.items():
        marks = [
            (_seconds(row) * factor, place)
            for place, rows in enumerate(parts.values())
            for row in rows
            if _label(row) == label
        ]
        axes.plot(*zip(*marks, strict=True), color=look.color, marker=look.marker, linestyle="", label=label)
    bounds = [(rows[0].bound_s, place) for place, rows in enumerate(parts.values())]
    known = [(bound_s * factor, place) for bound_s, place in bounds if bound_s is not None]
    if known:
        axes.plot(
            *zip(*known, strict=True), color=style.BOUND.color, marker="|", markersize=11, linestyle="",
            label="lower bound",
        )  # fmt: skip
    axes.set_yticks(range(len(parts)), list(parts))
    axes.set_ylim(len(parts) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, 1.05 * factor * max(map(_seconds, found)) or 1)
    axes.set_xlabel(f"time ({unit}); less is better")
    axes.grid(color="#DDDDDD", linewidth=0.7)
    axes.set_axisbelow(True)
    style.legend_below(axes, axes.get_legend_handles_labels()[0])


def _label(row: Row) -> str:
    """Name the algorithm alone: the collective stands above."""
    return row.algorithm.removeprefix(f"{row.collective}_")


def _seconds(row: Row) -> float:
    assert row.seconds is not None  # rows without a time are left out at the door
    return row.seconds
