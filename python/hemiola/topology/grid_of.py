# SPDX-License-Identifier: Apache-2.0
"""Which grid a topology is: dimensions, wires and costs with which `topologies.grid` builds the same links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hemiola import topologies
from hemiola._core import Topology

_MOST_DIMENSIONS = 4


@dataclass(frozen=True)
class Grid:
    """The arguments of `topologies.grid`; the first dimension varies fastest."""

    dims: tuple[int, ...]
    wires: tuple[str, ...]
    latency_s: tuple[float, ...]
    bandwidth: tuple[float, ...]


@lru_cache(maxsize=4)
def grid_of(topology: Topology) -> Grid | None:
    """Find the grid of the fewest dimensions that is this topology, link by link; None where it is none."""
    if not _may_be_grid(topology):
        return None
    links = _in_order(topology)
    for dims in _factorizations(topology.rank_count):
        grid = _guessed(topology, dims)
        if grid is None:
            continue
        built = topologies.grid(grid.dims, grid.wires, latency_s=grid.latency_s, bandwidth=grid.bandwidth)
        if built.switch_count != topology.switch_count or built.link_count != topology.link_count:
            continue
        if np.array_equal(_in_order(built), links):
            return grid
    return None


def _in_order(topology: Topology) -> NDArray[np.void]:
    """Return links by their ends; what a message costs does not make a grid."""
    return np.sort(np.asarray(topology.links)[["src", "dst", "latency_s", "bandwidth"]], order=("src", "dst"))


def _may_be_grid(topology: Topology) -> bool:
    """Say whether the switches could be those of a grid, before all ways to factor the rank count are tried.

    A dimension of s ranks behind switches has n/s switches of s ports each; no two switches are linked.
    """
    if topology.switch_count == 0:
        return True
    n, links = topology.rank_count, np.asarray(topology.links)
    if bool(((links["src"] >= n) & (links["dst"] >= n)).any()):
        return False
    ports = np.bincount(links["dst"][links["dst"] >= n] - n, minlength=topology.switch_count)
    sizes = 1
    for size, count in enumerate(np.bincount(ports).tolist()):
        if count == 0:
            continue
        if size < 2 or n % size or count % (n // size):
            return False
        sizes *= size ** (count // (n // size))
    return n % sizes == 0


def _factorizations(count: int) -> Iterator[tuple[int, ...]]:
    """Yield ordered factors >= 2 whose product is `count`, few of them first."""
    for number in range(1, _MOST_DIMENSIONS + 1):
        yield from _factors(count, number)


def _factors(count: int, number: int) -> Iterator[tuple[int, ...]]:
    if number == 1:
        if count > 1:
            yield (count,)
        return
    for first in range(2, count // 2 + 1):
        if count % first == 0:
            yield from ((first, *rest) for rest in _factors(count // first, number - 1))


def _guessed(topology: Topology, dims: tuple[int, ...]) -> Grid | None:
    """Read each dimension's wires and costs off the links of rank 0 and of its row."""
    links = np.asarray(topology.links)
    ranks = topology.rank_count
    steps = _coordinates(links["dst"], dims) - _coordinates(links["src"], dims)
    direct = (links["src"] < ranks) & (links["dst"] < ranks)
    if (np.count_nonzero(steps[direct], axis=1) != 1).any():
        return None
    switch_ports = iter(_switch_ports(topology))
    wires, latency_s, bandwidth = [], [], []
    for axis, size in enumerate(dims):
        along = links[direct & (steps[:, axis] != 0)]
        if len(along):
            joined = _wires(len(along) * size // ranks, size)
            if joined is None:
                return None
            wires.append(joined)
            latency_s.append(float(along["latency_s"][0]))
            bandwidth.append(float(along["bandwidth"][0]))
            continue
        port = next(switch_ports, None)
        if port is None:
            return None
        wires.append("switch")
        latency_s.append(port[0])
        bandwidth.append(port[1])
    return Grid(dims, tuple(wires), tuple(latency_s), tuple(bandwidth))


def _wires(links_a_row: int, size: int) -> str | None:
    known = {size * (size - 1): "fully_connected", 2 * size: "ring", 2 * (size - 1): "line"}
    return known.get(links_a_row)


def _switch_ports(topology: Topology) -> list[tuple[float, float]]:
    """Return latency from rank to rank and bandwidth of rank 0's ports on switches, in the order of the switches."""
    links = np.asarray(topology.links)
    into = links[(links["src"] == 0) & (links["dst"] >= topology.rank_count)]
    ports = []
    for link in np.sort(into, order="dst"):
        back = links[(links["src"] == link["dst"]) & (links["dst"] == 0)]
        if len(back):
            ports.append((float(link["latency_s"] + back["latency_s"][0]), float(link["bandwidth"])))
    return ports


def _coordinates(vertices: NDArray[np.int32], dims: tuple[int, ...]) -> NDArray[np.int64]:
    strides = np.cumprod([1, *dims[:-1]])
    return np.asarray((vertices.astype(np.int64)[:, None] // strides) % np.array(dims))
