# SPDX-License-Identifier: Apache-2.0
"""Pictures: that every vertex has room of its own, that grids, hosts and rings look like what they are."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

import hemiola as hm
from hemiola import topologies
from hemiola.errors import ArgumentError
from hemiola.view import style
from hemiola.view.grid_shape import find_grid
from hemiola.view.topology import _bend, _colours, _lines_of, draw_topology
from hemiola.view.topology_layout import lay_out

DATA = Path(__file__).parent / "data"
COST = {"latency_s": 0.5e-6, "bandwidth": 50e9}
HOSTS = {"latency_s": 1e-6, "bandwidth": 300e9, "nic_latency_s": 5e-6, "nic_bandwidth": 25e9}

MANY = [
    topologies.ring(4, **COST),
    topologies.ring(100, **COST),
    topologies.ring(1, **COST),
    topologies.ring(2, **COST),
    topologies.fully_connected(16, **COST),
    topologies.switch(8, **COST),
    topologies.switch(100, **COST),
    topologies.mesh([10, 10], **COST),
    topologies.mesh([50, 2], **COST),
    topologies.torus([4, 3, 3], **COST),
    topologies.hypercube([4, 5, 5], **COST),
    topologies.switch_2d([8, 4], **COST),
    topologies.rfs_3d([2, 4, 8], **COST),
    topologies.dragonfly([4, 5], **COST),
    topologies.dragonfly([9, 10], **COST),
    topologies.dgx1(),
    topologies.dgx_a100(),
    topologies.dgx_h100(4),
    topologies.dgx_h100(12, rails=False),
    topologies.hosts(12, 8, 4, **HOSTS),
    topologies.hosts(2, 50, 2, **HOSTS),
    topologies.boxes(8, ranks_per_box=4, cable_latency_s=1e-6, cable_bandwidth=1e9),
    hm.Topology.load(DATA / "dgx1_v100.xml"),
    hm.Topology.load(DATA / "h100_four.xml").repeated(3, shared=[15]),
    hm.Topology.load(DATA / "pcie_eight.topo"),
    hm.Topology(5, [], name="five without links"),
    hm.Topology(4, [(0, 1, 0.0, 1e9), (2, 3, 0.0, 1e9)], name="two halves"),
]


@pytest.mark.parametrize("t", MANY, ids=lambda t: f"{t.name} {t.switch_count}")
def test_no_two_vertices_are_in_one_place(t):
    points = lay_out(t).points
    assert points.shape == (t.rank_count + t.switch_count, 2)
    assert np.isfinite(points).all()
    apart = np.linalg.norm(points[:, None] - points[None], axis=2) + np.eye(len(points)) * 9
    assert apart.min() > 0.55  # circles have a radius of 0.3


@pytest.mark.parametrize(
    "t", [MANY[0], MANY[9], MANY[12], MANY[17], MANY[22], MANY[25]], ids=lambda t: t.name
)
@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_pictures_are_written_in_the_format_of_their_suffix(t, suffix, tmp_path):
    path = tmp_path / f"picture{suffix}"
    draw_topology(t, path)
    start = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[suffix]
    assert path.read_bytes().startswith(start)


def test_a_mesh_is_drawn_as_rows_and_columns():
    points = lay_out(topologies.mesh([4, 3], **COST)).points
    assert points.tolist() == [[x, -y] for y in range(3) for x in range(4)]


def test_a_ring_is_drawn_as_a_circle():
    points = lay_out(topologies.ring(12, **COST)).points
    radii = np.linalg.norm(points, axis=1)
    assert np.ptp(radii) < 1e-9
    assert points[0] == pytest.approx([0, radii[0]])  # rank 0 at the top, and on clockwise
    assert points[3] == pytest.approx([radii[0], 0])
    neighbours = np.linalg.norm(points - np.roll(points, 1, axis=0), axis=1)
    assert np.ptp(neighbours) < 1e-9


def test_a_hosts_frame_encloses_its_ranks_nvswitch_and_nics_but_not_the_core():
    """Given 3 hosts of 4 ranks and 2 NICs: ranks 0-11; per host an inner switch and 2 NICs, 12-20; core 21."""
    layout = lay_out(topologies.hosts(3, 4, 2, **HOSTS))
    assert layout.hosts == [[0, 1, 2, 3, 12, 13, 14], [4, 5, 6, 7, 15, 16, 17], [8, 9, 10, 11, 18, 19, 20]]


def test_a_core_is_core_even_where_one_host_has_its_ports_right_on_it():
    mixed = [
        topologies.Host(2, 2, **HOSTS),
        topologies.Host(4, 2, **HOSTS),
        topologies.Host(4, 1, **HOSTS),
    ]
    t = topologies.cluster(mixed)
    core = t.rank_count + t.switch_count - 1
    assert all(core not in members for members in lay_out(t).hosts)


def test_hosts_read_from_nccl_keep_their_pcie_inside_and_share_the_network():
    t = hm.Topology.load(DATA / "h100_four.xml").repeated(2, shared=[15])
    hosts = lay_out(t).hosts
    assert sorted(len(members) for members in hosts) == [15, 15]
    assert {v for members in hosts for v in members} == set(range(t.rank_count + t.switch_count - 1))


@pytest.mark.parametrize(
    ("t", "dims"),
    [
        (topologies.mesh([4, 3], **COST), (4, 3)),
        (topologies.mesh([2, 2], **COST), (2, 2)),
        (topologies.mesh([5, 2], **COST), (5, 2)),
        (topologies.mesh([2, 5], **COST), (2, 5)),
        (topologies.torus([5, 4], **COST), (5, 4)),
        (topologies.mesh([3, 3, 3], **COST), (3, 3, 3)),
        (topologies.mesh([4, 3], **COST).degraded({(0, 1): 2.0}), (4, 3)),
        (topologies.switch_2d([8, 4], **COST), (8, 4)),
        (topologies.rfs_3d([2, 4, 4], **COST), (2, 4, 4)),
        (topologies.grid([3, 5], ["fully_connected", "line"], **COST), (3, 5)),
        (topologies.ring(12, **COST), None),
        (topologies.fully_connected(12, **COST), None),
        (topologies.dgx1(), None),
        (topologies.mesh([4, 3], **COST).without_links([(0, 1)]), None),
        (topologies.dragonfly([4, 5], **COST), None),
        (hm.Topology(4, []), None),
    ],
    ids=lambda value: str(value),
)
def test_a_grid_is_recognized_by_its_links(t, dims):
    grid = find_grid(t)
    assert (grid.dims if grid else None) == dims


def test_a_grids_switches_are_at_the_ends_of_their_rows():
    points = lay_out(topologies.switch_2d([3, 2], **COST)).points
    assert points[6:8].tolist() == [[3, 0], [3, -1]]
    assert points[8:].tolist() == [[0, -2], [1, -2], [2, -2]]


def test_pictures_refuse_what_they_cannot_show(tmp_path):
    with pytest.raises(ArgumentError, match="at most 1024"):
        draw_topology(topologies.ring(2000, **COST), tmp_path / "x.png")
    with pytest.raises(ArgumentError, match=r"ending in \.png"):
        draw_topology(topologies.ring(4, **COST), tmp_path / "x.bmp")


def test_frames_are_drawn_around_their_own_hosts_vertices_alone(monkeypatch):
    drawn: list[Figure] = []
    monkeypatch.setattr(style, "save", lambda figure, path: drawn.append(figure))
    t = topologies.hosts(3, 4, 2, **HOSTS)
    draw_topology(t, "x.png")
    layout = lay_out(t)
    frames = [patch for patch in drawn[0].axes[0].patches if isinstance(patch, FancyBboxPatch)]
    assert len(frames) == len(layout.hosts)
    for frame, members in zip(frames, layout.hosts, strict=True):
        low = np.array([frame.get_x(), frame.get_y()])
        high = low + np.array([frame.get_width(), frame.get_height()])
        inside = ((layout.points - 0.3 > low) & (layout.points + 0.3 < high)).all(
            axis=1
        )  # with their circles
        assert np.flatnonzero(inside).tolist() == members


@pytest.mark.parametrize("count", [1, 2, 3, 5, 9, 40])
def test_faster_links_are_brighter_and_each_speed_has_a_colour_of_its_own(count: int) -> None:
    colours = _colours([1e9 * 1.5**i for i in range(count)])
    brightness = [float(np.dot(colour[:3], (0.3, 0.59, 0.11))) for colour in colours.values()]
    assert len(colours) == count
    assert (np.diff(brightness) > 0).all()
    assert all(0 < each < 0.8 for each in brightness)  # a line is seen on white


def test_links_around_a_grid_clear_its_vertices_and_bend_one_way_in_all_rows_and_in_all_columns() -> None:
    t = topologies.torus([5, 4], **COST)
    layout = lay_out(t)
    bends: dict[str, set[bool]] = {"row": set(), "column": set()}
    for line in _lines_of(t):
        a, b = layout.points[line.src], layout.points[line.dst]
        bend, length = _bend(line, layout.points), float(np.linalg.norm(b - a))
        if length < 1.5:
            assert bend == 0  # neighbours have nothing between them
        else:
            assert (
                abs(bend) * length / 2 > 0.3
            )  # at its middle an arc is half as far off as its control point
            along = b - a
            bends["row" if a[1] == b[1] else "column"].add(bool(bend * along.sum() > 0))
    assert [len(ways) for ways in bends.values()] == [1, 1]
