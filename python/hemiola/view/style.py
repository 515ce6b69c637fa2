# SPDX-License-Identifier: Apache-2.0
"""The common parts of all pictures: one look per algorithm, colours that colour-blind readers can tell apart, sizes of
columns, set-up, saving, units."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any, Literal

from hemiola.environment.packages import require

require("matplotlib")

from matplotlib import rc_context, rcParams
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

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


Dashes = Literal["-", "--", ":", "-."]


@dataclass(frozen=True)
class Look:
    """Colour, marker and line of a series in every figure."""

    color: str
    marker: str
    linestyle: Dashes = "-"


#: Of bounds: no algorithm is black, dashed or without a marker. Of several bounds each has its own dashes.
BOUND = Look(BLACK, "", "--")
_DASHES: tuple[Dashes, ...] = ("--", ":", "-.")

_COLORS = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY)
_MARKERS = "osD^vPX<"
#: The marker of each name by its colour. Those that one figure shows together differ in colour where six suffice.
_KNOWN: dict[str, dict[str, str]] = {
    BLUE: {"hemiola": "o", "plan": "v", "late": "D", "weighted exchange": "P", "out of place": "s"},
    ORANGE: {"ring": "s", "gloo": "^", "iccl": "o", "multitree": "D", "bruck": "v"},
    GREEN: {"direct": "D", "nccl": "o", "rccl": "v", "open shop": "s", "c cube": "^", "optcc": "X", "optcc ring": "P"},
    RED: {
        "recursive halving doubling": "^", "mpich": "o", "mpi": "s", "relayed": "D", "themis": "v",
        "recursive doubling": "P",
    },
    PURPLE: {
        "double binary tree": "v", "stragglar": "o", "pccl": "D", "r²ccl": "s", "taccl-like": "^", "swing": "P",
        "sccl-like": "X", "in place": "<",
    },
    SKY: {
        "hierarchical": "P", "torch": "o", "late, segmented": "s", "late, no delay": "X", "paced": "^",
        "synthesized": "D", "blueconnect": "v",
    },
}  # fmt: skip
_FIXED = {name: Look(color, marker) for color, markers in _KNOWN.items() for name, marker in markers.items()}
#: Names of papers for algorithms that have another name here.
_ALSO_CALLED = {"rhd": "recursive halving doubling", "allpairs": "direct"}


def looks_of(labels: Iterable[str]) -> dict[str, Look]:
    """Return the look of each series of a figure: no two alike, and of a known name the same as in other figures.

    Bounds are black and dashed. Another name's look follows from its letters: the next one that is free in the figure,
    of a colour that is free as long as there is one. There are 48 looks.
    """
    labels = list(dict.fromkeys(labels))
    bounds = [label for label in labels if _family(label).startswith(("bound", "lower bound"))]
    looks = {label: Look(BLACK, "", dashes) for label, dashes in zip(bounds, cycle(_DASHES), strict=False)}
    others = [label for label in labels if label not in looks]
    # Fixed looks first, so that a name that is not known does not take one of them.
    for label in sorted(others, key=lambda one: _family(one) not in _FIXED):
        fixed = _FIXED.get(_family(label))
        taken = set(looks.values())
        looks[label] = fixed if fixed and fixed not in taken else _free_look(_family(label), taken)
    return {label: looks[label] for label in labels}


def _free_look(family: str, taken: set[Look]) -> Look:
    """Return the first look, from a place that the letters give, of a free colour, else a free look, else any."""
    count = len(_COLORS) * len(_MARKERS)
    place = zlib.crc32(family.encode())
    tries = [_look((place + step) % count) for step in range(count)]
    colors = {look.color for look in taken}
    free = [look for look in tries if look not in taken]
    return next((look for look in free if look.color not in colors), (free or tries)[0])


def _look(place: int) -> Look:
    row, column = divmod(place, len(_COLORS))
    return Look(_COLORS[column], _MARKERS[(column + row) % len(_MARKERS)])


def _family(label: str) -> str:
    """Return an algorithm's name without its collective, in small letters and spaces."""
    name = label.lower().replace("_", " ")
    for kind in ("all reduce ", "all gather ", "reduce scatter ", "all to all ", "broadcast ", "reduce "):
        if name.startswith(kind):
            name = name.removeprefix(kind)
    return _ALSO_CALLED.get(name, name)


def logarithmic(axis: Axis, values: Sequence[float], base: int, name: Callable[[float], str]) -> None:
    """Give a logarithmic axis ticks that `name` names: powers of the base, of a short axis 2 and 5 times them, too."""
    positive = [value for value in values if value > 0]
    if not positive:
        return
    is_short = base == 10 and max(positive) / min(positive) < 100
    axis.set_major_locator(LogLocator(base, subs=(1, 2, 5) if is_short else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: name(value)))
    axis.set_minor_formatter(NullFormatter())


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


def figure_of(axes: Axes) -> Figure:
    """Return the figure in which axes stand."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    return figure


def new_panels(
    width: float, height: float, rows: int, columns: int, title: str
) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure with rows of axes, titled at the left."""
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=1.2 * font_size())
    return figure, [list(row) for row in figure.subplots(rows, columns, squeeze=False)]


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
    """Put a legend below the axes' words, where it covers nothing, in as many columns as there is room for.

    It is the figure's where the axes stand alone in it: a legend of the axes would narrow them to its own width.
    """
    figure = figure_of(axes)
    size = 0.9 * font_size()
    longest = max(len(str(mark.get_label())) for mark in marks)
    is_alone = figure.axes == [axes] and isinstance(figure.get_layout_engine(), ConstrainedLayoutEngine)
    room = (figure.bbox.width if is_alone else axes.get_window_extent().width) / figure.dpi * 72
    # A letter is a little wider than half its height; the mark and the space around it are as wide as eight.
    columns = max(1, min(len(marks), int(room / (0.6 * size * (longest + 8)))))
    shape: dict[str, Any] = {"handles": list(marks), "ncols": columns, "frameon": False, "fontsize": size}
    if is_alone:
        figure.legend(loc="outside lower right", **shape)
    else:
        axes.legend(loc="upper right", bbox_to_anchor=(1, 0), borderaxespad=3.6, **shape)


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
