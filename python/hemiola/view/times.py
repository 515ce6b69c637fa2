# SPDX-License-Identifier: Apache-2.0
"""Bars: how long each algorithm was predicted to take and did take, beside the bound none can beat."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hemiola.environment.packages import require

require("matplotlib")

from matplotlib.axes import Axes

from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError
from hemiola.view import style
from hemiola.view.algorithm_time import AlgorithmTime, refuse_not_finite
from hemiola.view.picture_file import check_suffix


def draw_times(
    times: Sequence[AlgorithmTime],
    path: str | Path,
    *,
    title: str,
    conditions: Conditions | None = None,
    subtitle: str = "",
    bound_s: float | None = None,
) -> None:
    """Draw one group of horizontal bars per algorithm, in the order given, and write it to a file.

    Parameters
    ----------
    times : sequence of AlgorithmTime, the groups, at least one.
    path : where to write; the suffix (.png, .svg, .pdf) is the format.
    title : str, the line above the picture.
    conditions, subtitle : Conditions and str, the line below it.
    bound_s : float, seconds, optional; a lower bound drawn as a line through all groups.

    Raises
    ------
    ArgumentError for an unknown suffix, no groups, or a time that is not finite.
    """
    path = check_suffix(path)
    refuse_none(times, bound_s)
    told = [*(conditions.in_words() if conditions else []), *([subtitle] if subtitle else [])]
    if any(row.spread_s for row in times):
        told.append("median, whisker from the 10th to the 99th percentile")
    height = 1.7 + (0.6 if _are_both_known(times) else 0.4) * len(times)
    figure, axes = style.new_axes(9, height, title, "; ".join(told))
    paint_times(axes, times, bound_s)
    style.save(figure, path)


def refuse_none(times: Sequence[AlgorithmTime], bound_s: float | None) -> None:
    """Raise ArgumentError where there is nothing to draw, or a time that is no number."""
    if not times:
        raise ArgumentError("expected at least one algorithm to draw, found none")
    for row in times:
        refuse_not_finite([row.measured_s, row.predicted_s, *(row.spread_s or ())], f"'{row.name}'")
    refuse_not_finite([bound_s], "the lower bound")


def paint_times(axes: Axes, times: Sequence[AlgorithmTime], bound_s: float | None) -> None:
    """Paint the bars into these axes, with a legend below them."""
    known = [time for row in times for time in (row.measured_s, row.predicted_s, bound_s) if time is not None]
    ends_s = [row.spread_s[1] for row in times if row.spread_s]
    factor, unit = style.time_unit(known)
    shift = 0.2 if _are_both_known(times) else 0.0
    _draw_series(axes, [row.predicted_s for row in times], factor, -shift, label="predicted", color=style.SKY)
    _draw_series(axes, [row.measured_s for row in times], factor, shift, label="measured", color=style.BLUE)
    _draw_spreads(axes, times, factor, shift)
    for row, time in enumerate(times):
        _write_time(axes, time.predicted_s, None, factor, row - shift)
        _write_time(axes, time.measured_s, time.spread_s[1] if time.spread_s else None, factor, row + shift)
    if bound_s is not None:
        axes.axvline(bound_s * factor, color=style.BLACK, linestyle="--", linewidth=1.2, label="lower bound")
    slowest = max([*known, *ends_s], default=0.0) * (1.2 if ends_s else 1)  # room for a whisker's words
    _finish(axes, [row.name for row in times], unit, limit=slowest * factor)


def _are_both_known(times: Sequence[AlgorithmTime]) -> bool:
    """Whether some bars are measured and some predicted, so that a row has two."""
    measured = any(row.measured_s is not None for row in times)
    return measured and any(row.predicted_s is not None for row in times)


def _draw_series(
    axes: Axes, times: list[float | None], factor: float, shift: float, *, label: str, color: str
) -> None:
    rows = [(row + shift, time * factor) for row, time in enumerate(times) if time is not None]
    if rows:
        axes.barh([y for y, _ in rows], [time for _, time in rows], height=0.38, label=label, color=color)


def _draw_spreads(axes: Axes, times: Sequence[AlgorithmTime], factor: float, shift: float) -> None:
    for row, time in enumerate(times):
        if time.spread_s is not None:
            fast, slow = (end * factor for end in time.spread_s)
            axes.hlines(row + shift, fast, slow, color=style.BLACK, linewidth=1.4)
            axes.vlines(
                [fast, slow], row + shift - 0.08, row + shift + 0.08, color=style.BLACK, linewidth=1.4
            )


def _write_time(axes: Axes, time_s: float | None, p99_s: float | None, factor: float, y: float) -> None:
    """Write a time right of its bar and whisker, so that it never meets the bound's line; of a whisker both values."""
    if time_s is None:
        return
    whisker = "" if p99_s is None else f"; p99 {p99_s * factor:.3g}"
    axes.annotate(
        f"{time_s * factor:.3g}{whisker}",
        xy=(max(time_s, p99_s or 0.0) * factor, y),
        xytext=(5, 0),
        textcoords="offset points",
        va="center",
        fontsize=0.9 * style.font_size(),
        color="#333333",
    )


def _finish(axes: Axes, names: list[str], unit: str, *, limit: float) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, limit * 1.08 or 1)
    axes.set_xlabel(f"time ({unit}); less is better")
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.7)
    axes.set_axisbelow(True)
    marks = axes.get_legend_handles_labels()[0]
    if marks:
        style.legend_below(axes, marks)
