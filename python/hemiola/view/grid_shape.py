# SPDX-License-Identifier: Apache-2.0
"""Is a topology a grid? Its dimensions, judged by how ranks are linked along the axes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Topology


@dataclass(frozen=True)
class Grid:
    """Two or three dimensions, the first fastest, and for every switch the row of ranks on it and that row's axis."""

    dims: tuple[int, ...]
    switched_rows: list[tuple[list[int], int]]

    def at(self, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the coordinates of ranks, one row each."""
        return _coordinates(ranks, self.dims)


def find_grid(topology: Topology) -> Grid | None:
    """Find dimensions in which every axis is lines, rings, all pairs (equally fast) or a switch per row."""
    for dims in _factorizations(topology.rank_count):
        grid = _as_grid(topology, dims)
        if grid is not None:
            return grid
    return None


def _factorizations(count: int) -> Iterator[tuple[int, ...]]:
    """Yield pairs and triples of factors >= 2 whose product is `count`, pairs first."""
    factors = [f for f in range(2, count // 2 + 1) if count % f == 0]
    yield from ((f, count // f) for f in factors)
    for f in factors:
        yield from ((f, g, count // f // g) for g in factors if (count // f) % g == 0 and count // f // g > 1)


def _coordinates(ranks: NDArray[np.int64], dims: tuple[int, ...]) -> NDArray[np.int64]:
    strides = np.cumprod([1, *dims[:-1]])
    return np.asarray((ranks[:, None] // strides) % np.array(dims))


def _as_grid(topology: Topology, dims: tuple[int, ...]) -> Grid | None:
    switched_rows = _switched_rows(topology, dims)
    if switched_rows is None:
        return None
    links = topology.links
    direct = links[(links["src"] < topology.rank_count) & (links["dst"] < topology.rank_count)]
    steps = _coordinates(direct["dst"].astype(np.int64), dims) - _coordinates(
        direct["src"].astype(np.int64), dims
    )
    if (np.count_nonzero(steps, axis=1) != 1).any():
        return None
    for axis, size in enumerate(dims):
        row_count = topology.rank_count // size
        along = steps[:, axis] != 0
        jumps = np.abs(steps[along, axis])
        rows = sum(1 for _, row_axis in switched_rows if row_axis == axis)
        wired = _is_wired(jumps, direct["bandwidth"][along], row_count, size)
        if not wired and not (rows == row_count and len(jumps) == 0):
            return None
    return Grid(dims, switched_rows)


def _is_wired(jumps: NDArray[np.int64], bandwidth: NDArray[np.float64], row_count: int, size: int) -> bool:
    """Whether an axis has all links between neighbours, and besides only those around, or all pairs alike."""
    if np.count_nonzero(jumps == 1) < 2 * row_count * (size - 1):
        return False
    if np.isin(jumps, (1, size - 1)).all():
        return True
    return len(jumps) == row_count * size * (size - 1) and bool((bandwidth == bandwidth[0]).all())


def _switched_rows(topology: Topology, dims: tuple[int, ...]) -> list[tuple[list[int], int]] | None:
    """Return the full row of ranks around every switch, and its axis; None where one has something else around."""
    links = topology.links
    rows = []
    for switch in range(topology.rank_count, topology.rank_count + topology.switch_count):
        around = set(links["dst"][links["src"] == switch].tolist()) | set(
            links["src"][links["dst"] == switch].tolist()
        )
        ranks = sorted(around)
        if not ranks or ranks[-1] >= topology.rank_count:
            return None
        at = _coordinates(np.array(ranks), dims)
        axes = np.flatnonzero(at.min(axis=0) != at.max(axis=0)).tolist()
        if len(axes) != 1 or len(ranks) != dims[axes[0]]:
            return None
        rows.append((ranks, axes[0]))
    return rows
