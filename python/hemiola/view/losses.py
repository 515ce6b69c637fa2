# SPDX-License-Identifier: Apache-2.0
"""The loss of a training by one process and by several: two curves that must lie on each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hemiola.errors import ArgumentError
from hemiola.view import style
from hemiola.view.algorithm_time import refuse_not_finite
from hemiola.view.picture_file import check_suffix


def draw_losses(
    alone: Sequence[float],
    together: Sequence[float],
    path: str | Path,
    *,
    title: str,
    subtitle: str = "",
    rank_count: int,
    allowed: float,
) -> None:
    """Draw both loss curves, and below them how far they are apart, and write the picture to a file.

    Parameters
    ----------
    alone, together : sequences of float, equally long, the loss at each step.
    path : where to write; the suffix (.png, .svg, .pdf) is the format.
    title, subtitle : str, the two lines above the picture.
    rank_count : int, the ranks that trained together.
    allowed : float > 0, the distance that is allowed; drawn as a line.

    Raises
    ------
    ArgumentError for an unknown suffix, or curves that are empty, not equally long or not finite.
    """
    path = check_suffix(path)
    if not alone or len(alone) != len(together):
        raise ArgumentError(
            f"expected two curves of equal length, found {len(alone)} and {len(together)} steps"
        )
    for whose, losses in (("1 process", alone), (f"{rank_count} ranks", together)):
        refuse_not_finite(losses, whose)
    figure, (curves, distances) = style.new_axes_above_each_other(9, 5.2, (3, 1), title, subtitle)
    steps = np.arange(len(alone))
    curves.plot(steps, alone, color=style.SKY, linewidth=5, label="1 process", solid_capstyle="round")
    curves.plot(steps, together, color=style.BLACK, linewidth=1.2, label=f"{rank_count} ranks")
    curves.set_ylabel("loss (cross-entropy)")
    curves.set_ylim(bottom=0)
    curves.legend(frameon=False)
    curves.tick_params(labelbottom=False)
    # Equal losses have no place on a logarithmic axis; they are drawn at half the smallest rounding.
    distance = np.maximum(np.abs(np.subtract(alone, together)), np.finfo(float).eps / 2)
    distances.semilogy(steps, distance, color=style.BLUE, linewidth=1.2)
    distances.axhline(allowed, color=style.RED, linestyle="--", linewidth=1.2)
    distances.annotate(
        "allowed", (1, allowed), (-4, -4), xycoords=("axes fraction", "data"), textcoords="offset points",
        ha="right", va="top", fontsize=9, color=style.RED,
    )  # fmt: skip
    distances.set_ylim(np.finfo(float).eps / 4, allowed * 10)
    distances.set_ylabel("distance")
    distances.set_xlabel("step")
    for axes in (curves, distances):
        axes.grid(color="#DDDDDD", linewidth=0.7)
        axes.set_axisbelow(True)
        axes.set_xlim(0, max(len(alone) - 1, 1))
    style.save(figure, path)
