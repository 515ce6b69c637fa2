"""What all pictures share: colours that colour-blind readers can tell apart, set-up, saving, units."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hemiola.view.picture_file import check_suffix

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
    axes.set_title(title, loc="left", fontsize=12, fontweight="bold", pad=24 if subtitle else 8)
    if subtitle:
        axes.annotate(
            subtitle,
            xy=(0, 1),
            xytext=(0, 8),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=9,
            color="#555555",
        )


def save(figure: Figure, path: str | Path) -> None:
    """Write the figure; the path's suffix says in which format."""
    figure.savefig(check_suffix(path), dpi=150)


def time_unit(times_s: Iterable[float]) -> tuple[float, str]:
    """Return (factor, unit) that bring the largest of the times, in seconds, to between 1 and 1000."""
    largest = max((abs(time) for time in times_s), default=0.0)
    for limit, factor, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "µs"), (1.0, 1e3, "ms")):
        if largest < limit:
            return factor, unit
    return 1.0, "s"
