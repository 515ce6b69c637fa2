# SPDX-License-Identifier: Apache-2.0
"""A topology as a picture: ranks, switches, hosts, and links coloured by bandwidth."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from hemiola.environment.packages import require

require("matplotlib")

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.colors import LogNorm
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Patch, Rectangle

from hemiola._core import Topology
from hemiola.errors import ArgumentError
from hemiola.topology.summary import size_in_words
from hemiola.units import format_bandwidth, format_seconds
from hemiola.view import style
from hemiola.view.picture_file import check_suffix
from hemiola.view.topology_layout import Layout, Points, lay_out

#: More than this no picture shows, and placing them takes long.
MAX_VERTICES = 1024
#: More different bandwidths than this become a colour scale.
_MOST_COLOURS = 7
_RADIUS = 0.3
#: Between a line and a vertex that it has nothing to do with.
_CLEARANCE = 0.05
#: Half a switch's side: its corners are no further out than lines keep clear.
_HALF_SIDE = 0.24
#: Of a line, in radii of a vertex: in a small figure thicker ones would hide what they join.
_THICKEST = 0.2
#: Shares of a line's length by which its control point may leave it, on either side.
_BENDS = tuple(0.04 * step for step in range(2, 50))
#: Of a curve, for its distance from vertices.
_SAMPLES = 17

_Colour = tuple[float, float, float, float]


@dataclass(frozen=True)
class _Line:
    """All links between two vertices, as one line: both ways where what goes back equals what goes there."""

    src: int
    dst: int
    bandwidth: float
    both_ways: bool


def draw_topology(topology: Topology, path: str | Path) -> None:
    """Draw the network and write it to a file.

    Ranks are numbered circles, switches squares, hosts of several ranks frames. A line without an arrow is as fast both
    ways; parallel links are one line of their total bandwidth.

    Parameters
    ----------
    topology : Topology of at most 1,024 ranks and switches; up to about 100 ranks are readable.
    path : where to write; the suffix (.png, .svg, .pdf) is the format.

    Raises
    ------
    ArgumentError for an unknown suffix or a larger topology.
    """
    path = check_suffix(path)
    layout = laid_out(topology)
    span = np.ptp(layout.points, axis=0) + 2
    scale = min(0.62, 13 / span[0], 11 / span[1])
    size = max(span[0] * scale, 3.2) + 2.3, max(span[1] * scale, 3.0) + 0.9
    figure, axes = style.new_axes(*size, topology.name or "topology", subtitle_of(topology))
    paint_topology(axes, topology, layout, inches=scale)
    style.save(figure, path)


def laid_out(topology: Topology) -> Layout:
    """Return where the vertices go; raise ArgumentError where they are too many for a picture."""
    vertex_count = topology.rank_count + topology.switch_count
    if vertex_count > MAX_VERTICES:
        raise ArgumentError(
            f"expected at most {MAX_VERTICES} ranks and switches to draw, found {vertex_count}"
        )
    return lay_out(topology)


def paint_topology(axes: Axes, topology: Topology, layout: Layout, *, inches: float) -> None:
    """Paint the network into these axes, a unit of the layout as so many inches, with a legend at their right."""
    axes.set_aspect("equal")
    axes.axis("off")
    low, high = layout.points.min(axis=0) - 1, layout.points.max(axis=0) + 1
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    _draw_hosts(axes, layout)
    colours = _draw_lines(axes, _lines_of(topology), layout, radius_pt=_RADIUS * inches * 72)
    size = min(8.0 if len(layout.points) <= 130 else 5.0, 22 * inches)
    _draw_vertices(axes, topology, layout.points, size)
    _draw_legend(axes, topology, layout, colours)


def subtitle_of(topology: Topology) -> str:
    latencies = sorted({float(latency_s) for latency_s in topology.links["latency_s"]})
    if not latencies:
        return size_in_words(topology)
    ends = dict.fromkeys(format_seconds(latency_s) for latency_s in (latencies[0], latencies[-1]))
    return f"{size_in_words(topology)}, latency {' to '.join(ends)}"


def _lines_of(topology: Topology) -> list[_Line]:
    total: Counter[tuple[int, int]] = Counter()
    for src, dst, _, bandwidth, _ in topology.links.tolist():
        total[src, dst] += bandwidth
    lines = []
    for (src, dst), bandwidth in total.items():
        both_ways = total.get((dst, src)) == bandwidth
        if not both_ways or src < dst:
            lines.append(_Line(src, dst, bandwidth, both_ways))
    return sorted(lines, key=lambda line: line.bandwidth)  # the fast ones on top


def _draw_lines(axes: Axes, lines: list[_Line], layout: Layout, radius_pt: float) -> dict[float, _Colour]:
    """Draw all lines; return the colour of each bandwidth."""
    colours = _colours(sorted({line.bandwidth for line in lines}))
    thickest = _THICKEST * radius_pt
    crowded = max(0.25, min(1.0, 250 / max(len(lines), 1)))
    straight: list[_Line] = []
    for line in lines:
        a, b = layout.points[line.src], layout.points[line.dst]
        bend = _bend(line, layout.points)
        if bend == 0 and line.both_ways:
            straight.append(line)
            continue
        axes.add_patch(
            FancyArrowPatch(
                tuple(a),
                tuple(b),
                connectionstyle=f"arc3,rad={bend}",
                arrowstyle="-" if line.both_ways else "-|>",
                shrinkA=0,
                shrinkB=0 if line.both_ways else radius_pt,
                mutation_scale=9,
                linewidth=min(1.5, thickest),
                alpha=max(crowded, 0.5),
                color=colours[line.bandwidth],
                zorder=2,
                clip_on=False,
            )
        )
    axes.add_collection(
        LineCollection(
            [layout.points[[line.src, line.dst]] for line in straight],
            colors=[colours[line.bandwidth] for line in straight],
            linewidths=min(1.8 if crowded == 1 else 1.1, thickest),
            alpha=crowded,
            zorder=2,
        )
    )
    return colours


def _bend(line: _Line, points: Points) -> float:
    """Return a line's bend; of two that differ by direction, each has its own side."""
    return bend_clear_of(points, line.src, line.dst, least=0.0 if line.both_ways else 0.12)


def bend_clear_of(points: Points, src: int, dst: int, *, least: float) -> float:
    """Return the bend with which a line keeps clear of all other vertices: the least one from `least` on. Where every
    bend meets a vertex, the one that keeps furthest off."""
    others = np.delete(points, [src, dst], axis=0)
    bends = [least, *(side * bend for bend in _BENDS if bend > least for side in (1, -1))]
    clear = -1.0
    best = least
    for bend in bends:
        room = _room(curve(points[src], points[dst], bend), others)
        if room >= _RADIUS + _CLEARANCE:
            return bend
        if room > clear:
            clear, best = room, bend
    return best


def curve(a: Points, b: Points, bend: float) -> Points:
    """Return points on the line that Matplotlib's "arc3" draws: a parabola that leaves the straight line halfway."""
    along = b - a
    control = (a + b) / 2 + bend * np.array([along[1], -along[0]])
    t = np.linspace(0, 1, _SAMPLES)[:, None]
    return np.asarray((1 - t) ** 2 * a + 2 * t * (1 - t) * control + t**2 * b)


def _room(path: Points, vertices: Points) -> float:
    """Return how near a path of short straight pieces comes to any of these vertices."""
    if len(vertices) == 0:
        return math.inf
    begin, along = path[:-1, None], np.diff(path, axis=0)[:, None]
    share = ((vertices - begin) * along).sum(axis=2) / np.maximum((along**2).sum(axis=2), 1e-12)
    nearest = begin + np.clip(share, 0, 1)[..., None] * along
    return float(np.linalg.norm(vertices - nearest, axis=2).min())


def _colours(bandwidths: list[float]) -> dict[float, _Colour]:
    """Give dark to slow and bright to fast links, evenly by rank where they are few, else by logarithm."""
    palette = matplotlib.colormaps["plasma"]
    if len(bandwidths) == 1:
        return {bandwidths[0]: palette(0.35)}
    if len(bandwidths) <= _MOST_COLOURS:
        return {b: palette(0.05 + 0.78 * i / (len(bandwidths) - 1)) for i, b in enumerate(bandwidths)}
    low, high = math.log(bandwidths[0]), math.log(bandwidths[-1])
    return {b: palette(0.05 + 0.78 * (math.log(b) - low) / (high - low)) for b in bandwidths}


def _draw_hosts(axes: Axes, layout: Layout) -> None:
    for members in layout.hosts:
        low, high = layout.points[members].min(axis=0) - 0.55, layout.points[members].max(axis=0) + 0.55
        width, height = high - low
        axes.add_patch(
            FancyBboxPatch(
                (low[0], low[1]),
                width,
                height,
                boxstyle="round,pad=0,rounding_size=0.3",
                facecolor="#F1F3F6",
                edgecolor=style.GREY,
                linewidth=0.9,
                zorder=1,
            )
        )


def _draw_vertices(axes: Axes, topology: Topology, points: Points, size: float) -> None:
    ranks, switches = points[: topology.rank_count], points[topology.rank_count :]
    circles = [Circle((x, y), _RADIUS) for x, y in ranks]
    squares = [
        Rectangle((x - _HALF_SIDE, y - _HALF_SIDE), 2 * _HALF_SIDE, 2 * _HALF_SIDE) for x, y in switches
    ]
    axes.add_collection(
        PatchCollection(circles, facecolor=style.BLUE, edgecolor="white", linewidth=0.8, zorder=3)
    )
    axes.add_collection(
        PatchCollection(squares, facecolor=style.BLACK, edgecolor="white", linewidth=0.8, zorder=3)
    )
    for vertex, (x, y) in enumerate(points):
        axes.text(
            x,
            y,
            str(vertex),
            ha="center",
            va="center",
            color="white",
            fontsize=size * (0.87 if vertex > 99 else 1),
            zorder=4,
        )
    for name, (x, y) in zip(topology.names, points, strict=False):
        axes.text(
            x, y - 0.45, name, ha="center", va="center", color=style.BLACK, fontsize=size * 0.62, zorder=4
        )


def _draw_legend(axes: Axes, topology: Topology, layout: Layout, colours: dict[float, _Colour]) -> None:
    marks: list[Line2D | Patch] = [
        Line2D([], [], marker="o", linestyle="", markersize=9, color=style.BLUE, label="rank")
    ]
    if topology.switch_count:
        marks.append(
            Line2D([], [], marker="s", linestyle="", markersize=8, color=style.BLACK, label="switch")
        )
    if layout.hosts:
        marks.append(Patch(facecolor="#F1F3F6", edgecolor=style.GREY, label="host"))
    bandwidths = sorted(colours, reverse=True)
    if len(bandwidths) <= _MOST_COLOURS:
        marks += [
            Line2D([], [], color=colours[b], linewidth=2.5, label=format_bandwidth(b)) for b in bandwidths
        ]
    axes.legend(handles=marks, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    if len(bandwidths) > _MOST_COLOURS:
        _draw_scale(axes, bandwidths)


def _draw_scale(axes: Axes, bandwidths: list[float]) -> None:
    """Add a logarithmic colour scale with bandwidths in units."""
    palette = matplotlib.colormaps["plasma"]
    shades = matplotlib.colors.ListedColormap(palette(np.linspace(0.05, 0.83, 256)))
    norm = LogNorm(bandwidths[-1], bandwidths[0])
    ticks = np.geomspace(bandwidths[-1], bandwidths[0], 5).tolist()
    figure = axes.get_figure()
    assert figure is not None
    bar = figure.colorbar(
        matplotlib.cm.ScalarMappable(norm, shades), ax=axes, shrink=0.5, label="bandwidth of a link"
    )
    bar.set_ticks(ticks, labels=[format_bandwidth(tick) for tick in ticks])
    bar.ax.minorticks_off()
