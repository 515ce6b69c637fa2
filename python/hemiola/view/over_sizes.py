# SPDX-License-Identifier: Apache-2.0
"""The picture of `run`, `bench` and their documents: bars for one size, lines over several, the bound beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hemiola.environment.packages import require

require("matplotlib")

from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError
from hemiola.view.algorithm_time import TimesAtSize
from hemiola.view.picture_file import check_suffix
from hemiola.view.sizes import Panel, draw_sizes
from hemiola.view.times import draw_times


def draw_over_sizes(
    sizes: Sequence[TimesAtSize],
    path: str | Path,
    *,
    title: str,
    conditions: Conditions | None = None,
    subtitle: str = "",
    prefix: str = "",
    bandwidth: bool = False,
) -> None:
    """Draw times beside their bound, and write the picture to a file.

    Parameters
    ----------
    sizes : the times at each size.
    path : where to write; the suffix (.png, .svg, .pdf) is the format.
    title : str, the line above the picture.
    conditions, subtitle : Conditions and str, the line below it.
    prefix : str, what names of lines leave out, since the title says it.
    bandwidth : bool, draw the size over the time instead.

    Raises
    ------
    ArgumentError for an unknown suffix, or no times.
    """
    path = check_suffix(path)
    if not sizes:
        raise ArgumentError("expected at least one size to draw, found none")
    if len(sizes) == 1 and not bandwidth:
        (one,) = sizes
        draw_times(
            one.times, path, title=title, conditions=conditions, subtitle=subtitle, bound_s=one.bound_s
        )
        return
    told = [*(conditions.in_words() if conditions else []), *([subtitle] if subtitle else [])]
    if any(time.spread_s for one in sizes for time in one.times):
        told.append("median, whisker from the 10th to the 99th percentile")
    draw_sizes([_panel(sizes, prefix)], path, title=title, subtitle="; ".join(told), bandwidth=bandwidth)


def _panel(sizes: Sequence[TimesAtSize], prefix: str) -> Panel:
    """Return each algorithm's times over the sizes: measured where they are, else predicted."""
    times: dict[str, dict[int, float]] = {}
    spreads: dict[str, dict[int, tuple[float, float]]] = {}
    for one in sizes:
        for time in one.times:
            name = time.name.removeprefix(prefix)
            seconds = time.predicted_s if time.measured_s is None else time.measured_s
            if seconds is not None:
                times.setdefault(name, {})[one.nbytes] = seconds
            if time.spread_s is not None:
                spreads.setdefault(name, {})[one.nbytes] = time.spread_s
    return Panel("", times, {one.nbytes: one.bound_s for one in sizes if one.bound_s is not None}, spreads)
