# SPDX-License-Identifier: Apache-2.0
"""Times over sizes, or sizes over times: a line for each algorithm and a dashed one for the bound, in panels alike."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hemiola.environment.packages import require

require("matplotlib")

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from hemiola.errors import ArgumentError
from hemiola.units import format_bandwidth, format_bytes, format_seconds
from hemiola.view import style
from hemiola.view.algorithm_time import refuse_not_finite
from hemiola.view.picture_file import check_suffix

#: Between the middles of two sizes that an axis names, in heights of a letter.
_NAME_ROOM = 5.5

#: In seconds by bytes.
Times = Mapping[int, float]


@dataclass(frozen=True)
class Panel:
    """Times of some algorithms over the same sizes, and the bound that none can beat; a size may be absent.

    `spreads` are whiskers (p10, p99) by algorithm and size. Seconds; of `as_bandwidth` bytes per second.
    """

    title: str
    times: Mapping[str, Times]
    bound: Times = field(default_factory=dict)
    spreads: Mapping[str, Mapping[int, tuple[float, float]]] = field(default_factory=dict)
    bound_label: str = "lower bound"

    def as_bandwidth(self) -> Panel:
        """Return the size over each time; what takes no time has no place there."""
        return Panel(
            self.title,
            {label: _bandwidths(times) for label, times in self.times.items()},
            _bandwidths(self.bound),
            {
                label: {size: (size / slow, size / fast) for size, (fast, slow) in spans.items() if fast > 0}
                for label, spans in self.spreads.items()
            },
            "bound",
        )

    @property
    def lines(self) -> dict[str, Times]:
        """The lines that have a time, the bound's last."""
        return {
            label: times for label, times in {**self.times, self.bound_label: self.bound}.items() if times
        }


def _bandwidths(times: Times) -> dict[int, float]:
    return {size: size / seconds for size, seconds in times.items() if seconds > 0 and size > 0}


def draw_sizes(
    panels: Sequence[Panel], path: str | Path, *, title: str, subtitle: str = "", bandwidth: bool = False
) -> None:
    """Draw times over sizes, and write the picture to a file.

    Parameters
    ----------
    panels : sequence of Panel, at least one with a time.
    path : where to write; the suffix (.png, .svg, .pdf) is the format.
    title, subtitle : str, the two lines above the picture.
    bandwidth : bool, draw the size over the time instead.

    Raises
    ------
    ArgumentError for an unknown suffix, no times, or one that is not finite.
    """
    path = check_suffix(path)
    refuse_none(panels)
    figure, axes = style.new_axes(9, 2 + 9 * shape_of(len(panels), 2), title, subtitle)
    paint_sizes(axes, panels, columns=2, bandwidth=bandwidth)
    style.save(figure, path)


def refuse_none(panels: Sequence[Panel]) -> None:
    """Raise ArgumentError where there is nothing to draw, or a time that is no number."""
    if not any(panel.lines for panel in panels):
        raise ArgumentError("expected at least one time to draw, found none")
    for panel in panels:
        for label, times in panel.lines.items():
            refuse_not_finite(times.values(), f"'{label}'")


def shape_of(count: int, columns: int) -> float:
    """Return the height over the width of so many panels in a figure of one or two columns of a paper."""
    if count == 1:
        return 0.55
    rows, across = _grid(count, columns)
    return 0.75 * rows / across


def paint_sizes(axes: Axes, panels: Sequence[Panel], *, columns: int, bandwidth: bool = False) -> None:
    """Paint the panels into these axes, all with the same scales, and one legend below them."""
    if bandwidth:
        panels = [panel.as_bandwidth() for panel in panels]
    refuse_none(panels)
    labels = list(dict.fromkeys(label for panel in panels for label in panel.lines))
    looks = style.looks_of(labels)
    rows, across = _grid(len(panels), columns)
    if len(panels) > 1:
        axes.axis("off")
    for place, panel in enumerate(panels):
        row, column = divmod(place, across)
        inside = axes
        if len(panels) > 1:
            box = (column / across, 1 - (row + 1) / rows, 0.91 / across, 0.82 / rows)
            inside = axes.inset_axes(box)
            inside.spines[["top", "right"]].set_visible(False)
            inside.set_title(panel.title, fontsize=0.9 * style.font_size(), pad=3)
        _paint_panel(inside, panel, looks)
        _scale(
            inside, panels, is_left=column == 0, is_lowest=place + across >= len(panels), bandwidth=bandwidth
        )
    marks = [
        Line2D([], [], color=look.color, marker=look.marker, linestyle=look.linestyle, label=label)
        for label, look in looks.items()
    ]
    style.legend_below(axes, marks)


def _grid(count: int, columns: int) -> tuple[int, int]:
    """Return rows of panels, and how many stand in a row."""
    across = min(count, 2 if columns == 1 or count == 4 else 3 if count < 7 else 4)
    return math.ceil(count / across), across


def _paint_panel(axes: Axes, panel: Panel, looks: Mapping[str, style.Look]) -> None:
    for label, times in panel.lines.items():
        look = looks[label]
        sizes = sorted(times)
        axes.plot(
            sizes, [times[size] for size in sizes], color=look.color, marker=look.marker, linestyle=look.linestyle,
            markersize=4, linewidth=1.3, label=label, clip_on=False,
        )  # fmt: skip
        for size, (fast, slow) in panel.spreads.get(label, {}).items():
            axes.vlines(size, fast, slow, color=look.color, linewidth=1)
    axes.grid(color="#DDDDDD", linewidth=0.6)
    axes.set_axisbelow(True)


def _scale(axes: Axes, panels: Sequence[Panel], *, is_left: bool, is_lowest: bool, bandwidth: bool) -> None:
    """Give the axes what all panels need: logarithms, the same ends, names of sizes and times with their units."""
    lines = [times for panel in panels for times in panel.lines.values()]
    ends = [
        end for panel in panels for spans in panel.spreads.values() for both in spans.values() for end in both
    ]
    sizes = sorted({size for times in lines for size in times})
    seconds = [time for times in lines for time in times.values()] + ends
    _logarithmic(axes, "x", sizes, 2)
    _logarithmic(axes, "y", seconds, 10)
    named = _named(axes, sizes)
    axes.xaxis.set_major_locator(FixedLocator(named))
    axes.set_xticklabels([format_bytes(size) for size in named] if is_lowest else [])
    axes.xaxis.set_minor_locator(NullLocator())
    if is_lowest and len(panels) > 1:  # names at the ends stay above their own panel
        words = axes.get_xticklabels()
        words[-1].set_horizontalalignment("right")
        words[0].set_horizontalalignment("left")
    in_words = format_bandwidth if bandwidth else format_seconds
    style.logarithmic(
        axes.yaxis,
        seconds,
        10,
        (lambda value: in_words(value).replace("us", "µs")) if is_left else lambda _: "",
    )
    if is_left:
        axes.set_ylabel("size over time" if bandwidth else "time")
    if is_lowest:
        axes.set_xlabel("buffer of a rank")


def _logarithmic(axes: Axes, which: str, values: Sequence[float], base: int) -> None:
    """Set a logarithmic scale that also has a place for zero, from the least to the greatest value."""
    positive = [value for value in values if value > 0]
    scale, limits = (axes.set_xscale, axes.set_xlim) if which == "x" else (axes.set_yscale, axes.set_ylim)
    if not positive:
        limits(0, 1)
        return
    low, high = min(positive), max(positive)
    room = max((high / low) ** 0.04, 1.1)
    if len(positive) == len(values):
        scale("log", base=base)
        limits(low / room, high * room)
    else:
        scale("symlog", base=base, linthresh=low)
        limits(0, high * room)


def _named(axes: Axes, sizes: Sequence[int]) -> list[int]:
    """Pick sizes from the least to the greatest, each as far from the one before as its name needs."""
    places = axes.transData.transform([(size, 1.0) for size in sizes])[:, 0]
    least = _NAME_ROOM * style.font_size() * style.figure_of(axes).dpi / 72
    chosen = [0]
    for place in range(1, len(sizes)):
        if places[place] - places[chosen[-1]] >= least:
            chosen.append(place)
    if len(chosen) > 1:
        chosen[-1] = len(sizes) - 1
    return [sizes[place] for place in chosen]
