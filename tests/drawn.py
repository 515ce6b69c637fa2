# SPDX-License-Identifier: Apache-2.0
"""The figures that a test's process draws, to look at what is in them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from hemiola.view import style


@contextmanager
def figures() -> Iterator[list[Figure]]:
    """Collect every figure that is written meanwhile; it is written all the same."""
    drawn: list[Figure] = []
    save = style.save
    with patch.object(style, "save", lambda figure, path: (drawn.append(figure), save(figure, path))):
        yield drawn


def lay_out(figure: Figure) -> None:
    """Place everything as in a file; a new figure's own canvas places nothing."""
    FigureCanvasAgg(figure).draw()


def bar_lengths(axes: Axes) -> list[float]:
    """Return the lengths of the bars of a chart, in the order in which they were drawn."""
    return [bar.get_width() for bar in axes.patches]


def whiskers(axes: Axes) -> list[tuple[float, float]]:
    """Return the ends of the spans beside the bars."""
    segments = [line.get_segments() for line in axes.collections if isinstance(line, LineCollection)]
    return [(float(one[0][0, 0]), float(one[0][1, 0])) for one in segments if len(one) == 1]
