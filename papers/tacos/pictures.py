# SPDX-License-Identifier: Apache-2.0
"""Pictures that only TACOS's report needs: heat maps of links, and a schedule on its network, step by step."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from numpy.typing import NDArray

from hemiola._core import Schedule, Topology
from hemiola.view import style


def link_matrix(topology: Topology, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a matrix of values by (source, destination) over all vertices; NaN where there is no link."""
    ends = topology.rank_count + topology.switch_count
    matrix = np.full((ends, ends), np.nan)
    links = topology.links
    matrix[links["src"], links["dst"]] = 0
    np.add.at(matrix, (links["src"], links["dst"]), values)
    return matrix


def draw_heat_maps(
    path: Path, title: str, rows: Mapping[str, Mapping[str, NDArray[np.float64]]], label: str
) -> None:
    """Draw a matrix per row and column; each row is scaled to its own largest value, and black where there is no
    link."""
    columns = list(next(iter(rows.values())))
    size = (2.1 * len(columns) + 1.2, 2.1 * len(rows) + 0.6)
    figure, axes = style.new_panels(*size, len(rows), len(columns), title)
    heat = colormaps["YlOrRd"].copy()
    heat.set_bad("black")
    picture = None
    for y, (row, matrices) in enumerate(rows.items()):
        largest = max(np.nanmax(matrix) for matrix in matrices.values())
        for x, column in enumerate(columns):
            panel = axes[y][x]
            picture = panel.imshow(
                matrices[column] / largest, cmap=heat, vmin=0, vmax=1, interpolation="nearest"
            )
            panel.set_xticks([])
            panel.set_yticks([])
            if y == 0:
                panel.set_title(column, fontsize=10)
            if x == 0:
                panel.set_ylabel(f"{row}\nsource", fontsize=9)
            if y == len(rows) - 1:
                panel.set_xlabel("destination", fontsize=9)
    assert picture is not None
    every = [panel for row in axes for panel in row]
    figure.colorbar(picture, ax=every, label=f"{label}\nblack: no link", shrink=0.6)
    style.save(figure, path)


def draw_on_grid(path: Path, title: str, schedule: Schedule, columns: int) -> None:
    """Draw each step of an all-gather on a 2D mesh: an arrow per transfer, labelled with its chunk."""
    figure, (panels,) = style.new_panels(3.1 * schedule.step_count, 3.4, 1, schedule.step_count, title)
    n = schedule.rank_count
    rows = np.asarray(schedule.transfers)
    for step, axes in enumerate(panels):
        axes.set_title(f"step {step}", fontsize=10)
        axes.set_aspect("equal")
        axes.axis("off")
        for rank in range(n):
            x, y = rank % columns, -(rank // columns)
            axes.text(x, y, str(rank), ha="center", va="center", fontsize=9, zorder=3)
            axes.scatter([x], [y], s=260, color="#E8EBF0", edgecolors=style.GREY, zorder=2)
        for transfer in rows[rows["step"] == step]:
            _draw_arrow(axes, int(transfer["src"]), int(transfer["dst"]), int(transfer["chunk"]), columns)
        axes.set_xlim(-0.4, columns - 0.6)
        axes.set_ylim(-(n // columns) + 0.6, 0.4)
    style.save(figure, path)


def _draw_arrow(axes: Axes, src: int, dst: int, chunk: int, columns: int) -> None:
    """Arrows of both directions run beside each other, each at its right."""
    a = np.array([src % columns, -(src // columns)], dtype=float)
    b = np.array([dst % columns, -(dst // columns)], dtype=float)
    along = b - a
    aside = 0.09 * np.array([along[1], -along[0]])
    start, end = a + 0.2 * along + aside, b - 0.2 * along + aside
    axes.annotate(
        "",
        xy=tuple(end),
        xytext=tuple(start),
        arrowprops={"arrowstyle": "->", "color": style.BLUE, "lw": 1.4},
    )
    middle = (start + end) / 2 + 0.8 * aside
    axes.text(
        middle[0], middle[1], str(chunk), fontsize=8, color=style.BLACK, ha="center", va="center", zorder=4
    )
