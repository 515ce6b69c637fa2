# SPDX-License-Identifier: Apache-2.0
"""The picture of `run`, `bench` and their documents: bars for one size, lines over several, the bound beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from hemiola.environment.packages import require

require("matplotlib")

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullLocator

from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError
from hemiola.units import format_bytes, format_seconds
from hemiola.view import style
from hemiola.view.algorithm_time import TimesAtSize
from hemiola.view.picture_file import check_suffix
from hemiola.view.times import draw_times

#: Sizes that the axis names, at most.
_MOST_NAMED = 8


def draw_over_sizes(
    sizes: Sequence[TimesAtSize],
    path: str | Path,
    *,
    title: str,
    conditions: Conditions | None = None,
    subtitle: str = "",
    prefix: str = "",
) -> None:
    """Draw times beside their bound, and write the picture to a file.

    Parameters
    ----------
    sizes : the times at each size.
    path : where to write; the suffix (.png, .svg, .pdf) is the format.
    title : str, the line above the picture.
    conditions, subtitle : Conditions and str, the line below it.
    prefix : str, what names of lines leave out, since the title says it.

    Raises
    ------
    ArgumentError for an unknown suffix, or no times.
    """
    path = check_suffix(path)
    if not sizes:
        raise ArgumentError("expected at least one size to draw, found none")
    if len(sizes) == 1:
        (one,) = sizes
        draw_times(
            one.times, path, title=title, conditions=conditions, subtitle=subtitle, bound_s=one.bound_s
        )
        return
    told = [*(conditions.in_words() if conditions else []), *([subtitle] if subtitle else [])]
    if any(time.spread_s for one in sizes for time in one.times):
        told.append("median, whisker from the 10th to the 99th percentile")
    figure, axes = style.new_axes(9, 5.2, title, "; ".join(told))
    _paint(axes, sizes, prefix)
    style.save(figure, path)


def _paint(axes: Axes, sizes: Sequence[TimesAtSize], prefix: str) -> None:
    """Paint a line for each algorithm, measured where it is, else predicted, and a dashed one for the bound."""
    lines: dict[str, list[tuple[int, float]]] = {}
    for one in sizes:
        for time in one.times:
            seconds = time.predicted_s if time.measured_s is None else time.measured_s
            if seconds is not None:
                lines.setdefault(time.name.removeprefix(prefix), []).append((one.nbytes, seconds))
        if one.bound_s is not None:
            lines.setdefault("lower bound", []).append((one.nbytes, one.bound_s))
    looks = style.looks_of(lines)
    for label in sorted(lines, key="lower bound".__eq__):
        look = looks[label]
        points = sorted(lines[label])
        axes.plot(
            [nbytes for nbytes, _ in points],
            [seconds for _, seconds in points],
            color=look.color,
            marker=look.marker,
            linestyle=look.linestyle,
            label=label,
        )
    for one in sizes:
        for time in one.times:
            if time.spread_s is not None:
                color = looks[time.name.removeprefix(prefix)].color
                axes.vlines(one.nbytes, *time.spread_s, color=color, linewidth=1)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    named = sorted(one.nbytes for one in sizes)[:: math.ceil(len(sizes) / _MOST_NAMED)]
    axes.set_xticks(named, [format_bytes(nbytes) for nbytes in named])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda seconds, _: format_seconds(seconds)))
    axes.set_xlabel("bytes of a rank's buffer")
    axes.set_ylabel("time; less is better")
    axes.grid(color="#DDDDDD", linewidth=0.7)
    axes.set_axisbelow(True)
    style.legend_below(axes, axes.get_legend_handles_labels()[0])
