# SPDX-License-Identifier: Apache-2.0
"""How long the last rank kept the others waiting, as a distribution over operations, as in [StragglAR, Figure 2a]."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hemiola.environment.packages import require

require("matplotlib")

from matplotlib.axes import Axes
from numpy.typing import NDArray

from hemiola.communicator.arrivals import Arrivals
from hemiola.errors import ArgumentError
from hemiola.view import style
from hemiola.view.picture_file import check_suffix

#: Ranks with a curve of their own, those that were last most often.
_MOST_CURVES = 4


def draw_arrivals(arrivals: Arrivals, path: str | Path, *, title: str, subtitle: str = "") -> None:
    """Draw the cumulative distribution of the last rank's delay, for all operations and by rank.

    Parameters
    ----------
    arrivals : Arrivals of at least one operation.
    path : where to write; the suffix (.png, .svg, .pdf) is the format.
    title, subtitle : str, the two lines above the picture.

    Raises
    ------
    ArgumentError for an unknown suffix or no operations.
    """
    path = check_suffix(path)
    refuse_none(arrivals)
    figure, axes = style.new_axes(9, 4.2, title, subtitle)
    paint_arrivals(axes, arrivals)
    style.save(figure, path)


def refuse_none(arrivals: Arrivals) -> None:
    """Raise ArgumentError where there is nothing to draw."""
    if arrivals.operation_count == 0:
        raise ArgumentError("expected at least one operation to draw, found none")


def paint_arrivals(axes: Axes, arrivals: Arrivals) -> None:
    """Paint the distributions into these axes."""
    factor, unit = style.time_unit(arrivals.lag_s)
    often = sorted(arrivals.ranks, key=lambda one: (-one.last_count, one.rank))[:_MOST_CURVES]
    colors = (style.BLUE, style.ORANGE, style.GREEN, style.PURPLE)
    for one, color in zip(often, colors, strict=False):
        lags = arrivals.lag_s[arrivals.last_rank == one.rank]
        if len(lags):
            label = f"rank {one.rank}, last in {one.last_share:.0%}" + (
                ", persistent" if one.persistent else ""
            )
            axes.step(*_distribution(lags * factor), where="post", color=color, linewidth=1.2, label=label)
    everything = _distribution(arrivals.lag_s * factor)
    axes.step(*everything, where="post", color=style.BLACK, linewidth=2, label="all operations")
    axes.set_xlabel(f"last rank after the last but one, {unit}")
    axes.set_ylabel("share of operations")
    axes.set_xlim(left=0)
    axes.set_ylim(0, 1.02)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1), fontsize=9)


def _distribution(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the steps of an empirical distribution, from 0 on."""
    ordered = np.concatenate([[0.0], np.sort(values)])
    return ordered, np.arange(len(ordered)) / len(values)
