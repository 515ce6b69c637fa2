# SPDX-License-Identifier: Apache-2.0
"""The common parts of all pictures: colours that colour-blind readers can tell apart, set-up, saving, units."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from hemiola.environment.packages import require

require("matplotlib")

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hemiola.view.picture_file import check_suffix
from hemiola.whole_file import write_whole

# Okabe and Ito's palette.
BLUE = "#0072B2"
ORANGE = "#E69F00"
GREEN = "#009E73"
RED = "#D55E00"
PURPLE = "#CC79A7"
SKY = "#56B4E9"
BLACK = "#222222"
GREY = "#8A8F98"


def new_axes(width: float, height: float, title: str, subtitle: str = "") -> tuple[Figure, Axes]:
    """Return a figure of the given size in inches with one set of axes, titled at the left."""
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    _write_titles(axes, title, subtitle)
    return figure, axes


def new_axes_above_each_other(
    width: float, height: float, shares: Sequence[float], title: str, subtitle: str = ""
) -> tuple[Figure, list[Axes]]:
    """Return a figure with one set of axes per share of the height, from the top, titled at the left."""
    figure = Figure(figsize=(width, height), layout="constrained")
    stacked = list(figure.subplots(len(shares), 1, height_ratios=list(shares)))
    for axes in stacked:
        axes.spines[["top", "right"]].set_visible(False)
    _write_titles(stacked[0], title, subtitle)
    return figure, stacked


def _write_titles(axes: Axes, title: str, subtitle: str) -> None:
    """Write both lines from the figure's left edge, above axes that may begin far to the right of it."""
    height = 24 if subtitle else 8
    # The lines are left out of the layout; an empty title of the axes keeps the room above for them.
    axes.set_title(" ", fontsize=12, pad=height)
    _write_line(axes, title, height, 12, "black", "bold")
    _write_line(axes, subtitle, 8, 9, "#555555", "normal")


def _write_line(axes: Axes, text: str, height: float, size: float, color: str, weight: str) -> None:
    line = axes.annotate(
        text,
        xy=(0.01, 1),
        xytext=(0, height),
        xycoords=("figure fraction", "axes fraction"),
        textcoords="offset points",
        fontsize=size,
        color=color,
        fontweight=weight,
    )
    line.set_in_layout(False)


def save(figure: Figure, path: str | Path) -> None:
    """Write the figure; the path's suffix says in which format."""
    picture = io.BytesIO()
    # Publishers refuse Type 3 fonts in a PDF; the words of an SVG stay words that can be searched and edited.
    with rc_context({"pdf.fonttype": 42, "svg.fonttype": "none"}):
        figure.savefig(picture, format=check_suffix(path).suffix[1:].lower(), dpi=150)
    write_whole(path, picture.getvalue())


def time_unit(times_s: Iterable[float]) -> tuple[float, str]:
    """Return (factor, unit) that bring the largest of the times, in seconds, to between 1 and 1000."""
    largest = max((abs(time) for time in times_s), default=0.0)
    for limit, factor, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "µs"), (1.0, 1e3, "ms")):
        if largest < limit:
            return factor, unit
    return 1.0, "s"
