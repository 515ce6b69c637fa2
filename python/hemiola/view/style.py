# SPDX-License-Identifier: Apache-2.0
"""The common parts of all pictures: one look per algorithm, colours that colour-blind readers can tell apart, sizes of
columns, set-up, saving, units."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hemiola.environment.packages import require

require("matplotlib")

from matplotlib import rc_context, rcParams
from matplotlib.artist import Artist
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

#: Widths in inches of a figure in one and in two columns of a paper.
ONE_COLUMN, TWO_COLUMNS = 3.5, 7.2


@dataclass(frozen=True)
class Look:
    """Colour, marker and line of a series in every figure."""

    color: str
    marker: str
    linestyle: str = "-"


#: Of bounds: no algorithm is black, dashed or without a marker.
BOUND = Look(BLACK, "", "--")

_COLORS = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY)
_MARKERS = "osD^vPX<"
#: Algorithms and peers that figures show most; neighbours here differ in colour and in marker.
_KNOWN = (
    "hemiola", "ring", "direct", "recursive halving doubling", "double binary tree", "hierarchical",
    "recursive doubling", "themis", "taccl-like", "multitree", "c cube", "blueconnect", "pccl", "nccl", "rccl",
    "mpich", "gloo", "mpi", "torch", "stragglar", "late", "optcc", "swing", "bruck", "plan", "synthesized",
)  # fmt: skip


def looks_of(labels: Iterable[str]) -> dict[str, Look]:
    """Return the look of each series of a figure: no two alike, and each the same as in other figures.

    A known name has a fixed look, a bound is black and dashed, and another name's look follows from its letters. Where
    two names meet in one look, the later one takes the next that is free. There are 48 looks.
    """
    labels = list(dict.fromkeys(labels))
    places: dict[str, int] = {}
    # Fixed looks first, so that a name that is not known does not take one of them.
    for label in sorted(labels, key=lambda one: _family(one) not in _KNOWN):
        family = _family(label)
        if family in ("bound", "lower bound"):
            continue
        place = _KNOWN.index(family) if family in _KNOWN else zlib.crc32(family.encode())
        taken = set(places.values())
        tries = (each % _LOOK_COUNT for each in range(place, place + _LOOK_COUNT))
        places[label] = next((each for each in tries if each not in taken), place % _LOOK_COUNT)
    return {label: _look(places[label]) if label in places else BOUND for label in labels}


_LOOK_COUNT = len(_COLORS) * len(_MARKERS)


def _look(place: int) -> Look:
    row, column = divmod(place, len(_COLORS))
    return Look(_COLORS[column], _MARKERS[(column + row) % len(_MARKERS)])


def _family(label: str) -> str:
    """Return an algorithm's name without its collective, in small letters and spaces."""
    name = label.lower().replace("_", " ")
    for kind in ("all reduce ", "all gather ", "reduce scatter ", "all to all ", "broadcast ", "reduce "):
        if name.startswith(kind):
            return name.removeprefix(kind)
    return name


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
    size = font_size()
    height = 8 + 1.3 * size * (1 + subtitle.count("\n")) if subtitle else 8
    # The lines are left out of the layout; an empty title of the axes keeps the room above for them.
    axes.set_title(" " + "\n" * title.count("\n"), fontsize=1.2 * size, pad=height)
    _write_line(axes, title, height, 1.2 * size, "black", "bold")
    _write_line(axes, subtitle, 8, 0.9 * size, "#555555", "normal")


def font_size() -> float:
    """Return the size of words in points: 10, or the present setting of Matplotlib's "font.size"."""
    return float(rcParams["font.size"])


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


def legend_below(axes: Axes, marks: Sequence[Artist]) -> None:
    """Put a legend below the axes' words, where it covers nothing, in as many columns as a narrow figure holds."""
    figure = axes.get_figure()
    most = 2 if figure is not None and axes.get_window_extent().width < 4 * figure.dpi else 5
    axes.legend(
        handles=list(marks), loc="upper right", bbox_to_anchor=(1, 0), borderaxespad=3.6, ncols=min(len(marks), most),
        frameon=False, fontsize=0.9 * font_size(),
    )  # fmt: skip


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
