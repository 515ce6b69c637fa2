# SPDX-License-Identifier: Apache-2.0
"""Where the vertices of a topology go in a picture: a grid, hosts around their core, a circle, or by distance."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Topology
from hemiola.view.grid_shape import Grid, find_grid

Points = NDArray[np.float64]


@dataclass(frozen=True)
class Layout:
    """Positions of all vertices, and which vertices each host's frame encloses (none where hosts are single ranks)."""

    points: Points
    hosts: list[list[int]] = field(default_factory=list)


def lay_out(topology: Topology) -> Layout:
    """Choose positions in units of about one vertex's room."""
    pairs = joined_pairs(topology)
    if 1 < topology.node_count < topology.rank_count:
        return _hosts(topology, pairs)
    if topology.switch_count == 1 and topology.rank_count > 1:
        return Layout(np.vstack([circle(topology.rank_count), np.zeros((1, 2))]))
    grid = find_grid(topology)
    if grid is not None:
        return Layout(_grid(grid))
    if topology.switch_count == 0 and _is_ring(topology.rank_count, pairs):
        return Layout(circle(topology.rank_count))
    return Layout(_parted(_by_distance(topology.rank_count + topology.switch_count, pairs)))


def joined_pairs(topology: Topology) -> set[tuple[int, int]]:
    """Return the pairs (smaller, larger) of vertices that a link joins in either direction."""
    links = topology.links
    low, high = np.minimum(links["src"], links["dst"]), np.maximum(links["src"], links["dst"])
    return set(zip(low.tolist(), high.tolist(), strict=True))


def circle(count: int, room: float = 1.0, least: float = 1.2) -> Points:
    """Place vertices clockwise from the top, `room` apart, on a circle of at least `least` rooms' radius."""
    radius = room * max(count / (2 * math.pi), least)
    angle = math.pi / 2 - 2 * math.pi * np.arange(count) / max(count, 1)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def _is_ring(count: int, pairs: set[tuple[int, int]]) -> bool:
    return all((min(r, (r + 1) % count), max(r, (r + 1) % count)) in pairs for r in range(count) if count > 1)


def _grid(grid: Grid) -> Points:
    """Place a 2D grid squarely, a third dimension obliquely behind it, switches at the ends of their rows."""
    depth = grid.dims[2] if len(grid.dims) == 3 else 1
    room = float(depth)
    steps = np.array([[room, 0.0], [0.0, -room], [0.9, 0.8]])[: len(grid.dims)]
    ranks = grid.at(np.arange(math.prod(grid.dims))) @ steps
    ends = [ranks[max(row)] + steps[axis] for row, axis in grid.switched_rows]
    return np.vstack([ranks, *ends]) if ends else np.asarray(ranks)


def _hosts(topology: Topology, pairs: set[tuple[int, int]]) -> Layout:
    """Place hosts in rows on both sides of the core switches, or on a circle where there is no core."""
    neighbours = _neighbours(topology.rank_count + topology.switch_count, pairs)
    host_of = _host_of_vertices(topology, neighbours)
    core = [v for v, host in enumerate(host_of) if host is None]
    members = [[v for v, host in enumerate(host_of) if host == h] for h in range(topology.node_count)]
    points = np.zeros((len(host_of), 2))
    inside = [_inside_host(topology.rank_count, group, neighbours, set(core)) for group in members]
    width = max(float(np.ptp(p[:, 0])) for p in inside) + 2.2
    height = max(float(p[:, 1].max()) for p in inside) + 1.0
    if core:
        places = _places_around_core(len(members), width, height)
    else:
        centres = circle(len(members), room=math.hypot(width, height), least=0.6).tolist()
        places = [(x, y, -1.0 if y > 0.1 else 1.0) for x, y in centres]
    for group, local, (x, y, facing) in zip(members, inside, places, strict=True):
        points[group] = np.column_stack([x + local[:, 0], y + facing * local[:, 1]])
    points[core] = _core_row(len(core), max(x for x, _, _ in places) + width)
    return Layout(points, hosts=members)


def _neighbours(count: int, pairs: set[tuple[int, int]]) -> list[list[int]]:
    neighbours: list[list[int]] = [[] for _ in range(count)]
    for a, b in sorted(pairs):
        neighbours[a].append(b)
        neighbours[b].append(a)
    return neighbours


def _host_of_vertices(topology: Topology, neighbours: list[list[int]]) -> list[int | None]:
    """Give a switch to the one host whose ranks are nearest, unless it leads to several others: then it is core."""
    nodes = topology.nodes.tolist()
    hops = np.array([_hops_to_host(host, nodes, neighbours) for host in range(topology.node_count)])
    order = np.sort(hops, axis=0)
    nearest = [
        int(host) if alone else None
        for host, alone in zip(hops.argmin(axis=0), order[0] < order[1], strict=True)
    ]

    def host_of(switch: int) -> int | None:
        foreign = [n for n in neighbours[switch] if nearest[n] != nearest[switch]]
        return nearest[switch] if len(foreign) <= 1 else None

    switches = range(topology.rank_count, len(neighbours))
    return [*nodes, *(host_of(switch) for switch in switches)]


def _hops_to_host(host: int, nodes: list[int], neighbours: list[list[int]]) -> list[float]:
    """Count links from every vertex to the host's nearest rank, on ways that pass switches only."""
    hops = [math.inf] * len(neighbours)
    reached = [rank for rank, node in enumerate(nodes) if node == host]
    for rank in reached:
        hops[rank] = 0
    for v in reached:
        for n in neighbours[v]:
            if n >= len(nodes) and hops[n] == math.inf:
                hops[n] = hops[v] + 1
                reached.append(n)
    return hops


def _inside_host(rank_count: int, group: list[int], neighbours: list[list[int]], core: set[int]) -> Points:
    """Place a host's ranks in rows; above them what leads out of it, below them rows of its other switches."""
    ranks = [v for v in group if v < rank_count]
    columns = len(ranks) if len(ranks) <= 4 else math.ceil(len(ranks) / math.ceil(len(ranks) / 4))
    inside = set(group)
    switches = [v for v in group if v >= rank_count]
    outward = [v for v in switches if any(n in core or n not in inside for n in neighbours[v])]
    inner = [v for v in switches if v not in outward]
    rows = _by_hops_from(ranks, inner, neighbours)[::-1]
    rows += [ranks[i : i + columns] for i in reversed(range(0, len(ranks), columns))]
    rows += [outward] if outward else []
    place = {
        v: ((i - (len(row) - 1) / 2) * columns / max(len(row), columns), float(y))
        for y, row in enumerate(rows)
        for i, v in enumerate(row)
    }
    return np.array([place[v] for v in group])


def _by_hops_from(ranks: list[int], switches: list[int], neighbours: list[list[int]]) -> list[list[int]]:
    """Return rows of switches, those next to ranks first."""
    rows = []
    before, left = set(ranks), set(switches)
    while left:
        row = {switch for switch in left if before.intersection(neighbours[switch])} or left
        rows.append(sorted(row))
        before, left = row, left - row
    return rows


def _places_around_core(count: int, width: float, height: float) -> list[tuple[float, float, float]]:
    """Return x, y and the direction of the core (1: above) per host: one row below it, or also one above."""
    below = count if count <= 3 else (count + 1) // 2
    gap = 1.6
    places = []
    for row, in_row, facing in ((0, below, 1.0), (1, count - below, -1.0)):
        y = -(height + gap) if row == 0 else height + gap
        places += [((i - (in_row - 1) / 2) * width, y, facing) for i in range(in_row)]
    return places


def _core_row(count: int, width: float) -> Points:
    room = min(2.0, 2 * width / max(count, 1))
    return np.column_stack([(np.arange(count) - (count - 1) / 2) * room, np.zeros(count)])


def _by_distance(count: int, pairs: set[tuple[int, int]]) -> Points:
    """Place vertices so that distances resemble hop counts: classical scaling, then stress majorization."""
    distance = _hop_counts(count, pairs)
    if count < 3:
        return np.column_stack([np.arange(count), np.zeros(count)]).astype(float)
    centring = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-0.5 * centring @ distance**2 @ centring)
    points = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 1e-9))
    points = points + circle(count, room=0.01)  # parts those that the scaling puts in one place
    weight = np.where(distance > 0, 1 / np.maximum(distance, 1) ** 2, 0.0)
    laplacian = np.diag(weight.sum(axis=1)) - weight
    inverse = np.linalg.pinv(laplacian)
    for _ in range(150):
        between = np.linalg.norm(points[:, None] - points[None], axis=2)
        pull = np.where(between > 1e-9, weight * distance / np.maximum(between, 1e-9), 0.0)
        points = inverse @ ((np.diag(pull.sum(axis=1)) - pull) @ points)
    return np.asarray(points * 1.4)


def _parted(points: Points, least: float = 0.85) -> Points:
    """Push vertices apart until none is nearer to another than `least`."""
    for _ in range(200):
        away = points[:, None] - points[None]
        between = np.linalg.norm(away, axis=2) + np.eye(len(points)) * least
        lack = np.maximum(least - between, 0) / 2
        if lack.max() < 1e-3:
            break
        points = points + (away / np.maximum(between, 1e-6)[..., None] * lack[..., None]).sum(axis=1)
    return points


def _hop_counts(count: int, pairs: set[tuple[int, int]]) -> NDArray[np.float64]:
    """Count hops between all vertices; parts that nothing joins are put a little further than the widest."""
    neighbours = _neighbours(count, pairs)
    hops = np.full((count, count), -1.0)
    for start in range(count):
        hops[start, start] = 0
        reached = [start]
        for v in reached:
            for n in neighbours[v]:
                if hops[start, n] < 0:
                    hops[start, n] = hops[start, v] + 1
                    reached.append(n)
    return np.where(hops < 0, hops.max() + 2, hops)
