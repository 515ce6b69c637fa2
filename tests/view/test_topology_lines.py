# SPDX-License-Identifier: Apache-2.0
"""A line of a topology's picture is a link: it touches the two vertices that it joins, and comes near no other one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import FancyArrowPatch
from numpy.typing import NDArray

import hemiola as hm
from drawn import figures
from hemiola.view import topology as picture
from hemiola.view.topology_layout import joined_pairs, lay_out

EXAMPLES = Path(__file__).parents[2] / "examples"
LINKS = {"latency_s": 1e-6, "bandwidth": 1e9}
NETWORKS = {
    **{path.stem: hm.Topology.load(path) for path in sorted(EXAMPLES.glob("*.yaml"))},
    "ring": hm.topologies.ring(9, **LINKS),
    "fully connected": hm.topologies.fully_connected(8, **LINKS),
    "mesh": hm.topologies.mesh([4, 5], **LINKS),
    "torus": hm.topologies.torus([4, 4], **LINKS),
    "torus 3D": hm.topologies.torus([3, 3, 3], **LINKS),
    "DGX-1": hm.topologies.dgx1(**LINKS),
    "hypercube": hm.topologies.hypercube([3, 3, 3], **LINKS),
}


def lines(axes: Axes) -> list[NDArray[np.float64]]:
    """Return the drawn lines as points; a curve as many short pieces."""
    found = [
        line for one in axes.collections if isinstance(one, LineCollection) for line in one.get_segments()
    ]
    for patch in axes.patches:
        if isinstance(patch, FancyArrowPatch):
            a, b = patch._posA_posB  # type: ignore[attr-defined]
            found.append(_pieces(patch.get_connectionstyle().connect(a, b)))
    return [np.asarray(line) for line in found]


def _pieces(curve: object) -> NDArray[np.float64]:
    a, control, b = curve.vertices  # type: ignore[attr-defined]
    t = np.linspace(0, 1, 101)[:, None]
    return np.asarray((1 - t) ** 2 * a + 2 * t * (1 - t) * control + t**2 * b)


def distances(line: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    begin, along = line[:-1, None], np.diff(line, axis=0)[:, None]
    share = ((points - begin) * along).sum(axis=2) / np.maximum((along**2).sum(axis=2), 1e-12)
    near: NDArray[np.float64] = np.linalg.norm(
        points - begin - np.clip(share, 0, 1)[..., None] * along, axis=2
    ).min(0)
    return near


@pytest.mark.parametrize("name", NETWORKS)
def test_lines_join_their_two_vertices_and_keep_clear_of_all_others(name: str, tmp_path: Path) -> None:
    network = NETWORKS[name]
    with figures() as drawn:
        picture.draw_topology(network, tmp_path / "t.png")
    points = lay_out(network).points
    joined = set()
    for line in lines(drawn[0].axes[0]):
        ends = [int(np.linalg.norm(points - end, axis=1).argmin()) for end in (line[0], line[-1])]
        joined.add((min(ends), max(ends)))
        others = np.delete(points, ends, axis=0)
        assert distances(line, others).min() > picture._RADIUS, ends
    assert joined == joined_pairs(network)


def test_a_switch_reaches_no_further_than_lines_keep_clear() -> None:
    assert np.hypot(picture._HALF_SIDE, picture._HALF_SIDE) < picture._RADIUS + picture._CLEARANCE


def test_lines_are_thinner_in_a_narrow_figure() -> None:
    network = hm.topologies.switch(40, **LINKS)
    wide, narrow = (
        hm.draw(network, columns=columns).collections[0].get_linewidths()[0] for columns in (2, 1)
    )
    assert narrow < 0.7 * wide
