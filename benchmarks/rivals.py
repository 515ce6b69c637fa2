# SPDX-License-Identifier: Apache-2.0
"""What may beat a plan: schedules of papers, syntheses of other sizes, and what is made around a late rank."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import hemiola as hm
from butterflies import Step, in_blocks, in_whole, is_power, swing_parts, tree, trivance_parts
from hemiola.errors import ArgumentError
from hemiola.synthesis import (
    forest,
    late_forest,
    late_hosts,
    late_matched,
    late_rails,
    search,
    topology_algorithms,
)
from hemiola.topology.grid_of import grid_of
from random_settings import MOST_RANKS, Setting

#: Of each schedule beside those of the planner with more effort.
_MOST_TRANSFERS = 400_000
#: Each chunk has a way of its own there, which takes the cube of the ranks behind switches.
_MOST_RANKS_WITH_WAYS = 24
_CHUNKS, _PIECES, _PARTS = (2, 8, 32), (4, 16, 128), (4, 16, 64)
#: Ranks and switches of a forest. Beyond `_MANY_VERTICES` trees from every rank are packed for one number of pieces
#: alone: of a cube of 128 ranks each number takes 29 CPU s.
_MOST_VERTICES, _MANY_VERTICES, _PIECES_OF_MANY = 128, 64, (16,)
_WITH_ONE_ROOT = ("broadcast", "reduce")
_GATHERS = ("all_gather_direct", "all_gather_bruck")
#: On more ranks butterflies, dimension by dimension, and what the registry has are not tried.
_MOST_RANKS_OF_ALL = 64
#: Of what is made around a late rank: chunks down each tree or rail, and shares of the buffer that the others reduce
#: while they wait. Links of the late rank times all links: each of the former has a forest of its own.
_LATE_PIECES, _LATE_SHARES, _MOST_LATE_LINKS = (4, 16, 64, 256), (1.0, 0.75, 0.5, 0.25), 10_000
#: Chunks that are matched around it, and ranks and switches.
_LATE_CHUNKS, _MOST_MATCHED = (16, 64, 256, 1024), 300


def rivals(setting: Setting) -> Iterator[tuple[str, hm.Schedule]]:
    """Make what may be better; what cannot be made for this setting is not among it."""
    topology, kind, root, nbytes = setting.topology, setting.kind, setting.root, setting.nbytes
    n = topology.rank_count
    most_ranks = _MOST_RANKS_WITH_WAYS if kind in ("scatter", "gather", "all_to_all") else MOST_RANKS
    for chunks in _CHUNKS:
        if n <= most_ranks and n * n * chunks * (2 if kind == "all_reduce" else 1) <= _MOST_TRANSFERS:
            found = search(
                topology, kind, chunks, root=root, nbytes=nbytes, trials=2, threads=1, progress=False
            )
            yield f"synthesized ({chunks} chunks)", found.schedule
    yield from _published(setting)
    if kind in ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce"):
        yield from _forests(setting)
    if kind in _WITH_ONE_ROOT and is_power(n, 2):
        for name, nearest_last in (("near to far", False), ("far to near", True)):
            (steps, *_) = swing_parts([n], is_nearest_last=nearest_last)
            yield f"Bine tree, {name}", tree(kind, n, steps, root)
    if kind == "all_reduce":
        yield from _in_whole_buffers(setting)
        yield from _butterflies(topology)
    if kind == "all_reduce" and setting.conditions.late:
        yield from _around_late_rank(setting)


def _published(setting: Setting) -> Iterator[tuple[str, hm.Schedule]]:
    """Make what is made for the topology with several parts, and on few ranks every algorithm of the registry."""
    topology, kind, n = setting.topology, setting.kind, setting.topology.rank_count
    for name in topology_algorithms.names():
        named, pattern = topology_algorithms.split(name)
        if named != kind or pattern in ("sccl", "taccl", "forest"):
            continue
        for parts in _PARTS:
            try:
                schedule = topology_algorithms.generate(
                    name, topology, nbytes=setting.nbytes, root=setting.root, chunk_count=parts
                )
            except ArgumentError:  # not made for this topology
                break
            yield f"{name} ({parts} chunks)", schedule
    for name in hm.algorithms.names():
        algorithm = hm.algorithms.get(name)
        if n <= _MOST_RANKS_OF_ALL and algorithm.kind == kind and algorithm.is_valid(n):
            yield name, algorithm.generate(n, setting.root)


def _butterflies(topology: hm.Topology) -> Iterator[tuple[str, hm.Schedule]]:
    """Make Swing, Bine and Trivance on the sides of a grid, and on all ranks as one ring."""
    n, grid = topology.rank_count, grid_of(topology)
    if n > _MOST_RANKS_OF_ALL:
        return
    shapes = {(n,)} if grid is None else {(n,), tuple(size for size in grid.dims if size > 1)}
    for dims in sorted(shapes):
        families: dict[str, list[list[Step]]] = {}
        if all(is_power(size, 2) for size in dims):
            families = {
                f"Swing {dims}": swing_parts(dims),
                f"Bine {dims}": swing_parts(dims, is_nearest_last=True),
            }
        if all(is_power(size, 3) for size in dims):
            families[f"Trivance {dims}"] = trivance_parts(dims)
        for name, parts in families.items():
            for count in sorted({1, len(parts)}):
                yield f"{name} in {count} whole parts", in_whole(n, parts[:count])
                yield f"{name} in {count} parts of blocks", in_blocks(n, parts[:count])


def _forests(setting: Setting) -> Iterator[tuple[str, hm.Schedule]]:
    vertices = setting.topology.rank_count + setting.topology.switch_count
    if vertices > _MOST_VERTICES:
        return
    is_long = vertices > _MANY_VERTICES and setting.kind not in _WITH_ONE_ROOT
    for pieces in _PIECES_OF_MANY if is_long else _PIECES:
        try:
            found = forest(
                setting.topology, setting.kind, pieces=pieces, nbytes=setting.nbytes, root=setting.root
            )
        except ArgumentError:
            return
        yield f"forest ({pieces} pieces)", found.schedule


def _in_whole_buffers(setting: Setting) -> Iterator[tuple[str, hm.Schedule]]:
    """Make all-reduces that send whole buffers: all at once, or by the factors of a host's ranks and of the hosts."""
    n, hosts = setting.topology.rank_count, setting.topology.node_count
    if 2 * n * n <= _MOST_TRANSFERS:
        for name in _GATHERS:
            yield f"one_shot of {name}", hm.algorithms.get(name).generate(n).one_shot_all_reduce()
    shapes = {(hosts, n // hosts)[::-1], *((size, n // size) for size in range(2, n) if n % size == 0)}
    grid = grid_of(setting.topology)
    if grid is not None and 1 < math.prod(grid.dims) == n <= _MOST_RANKS_OF_ALL:
        for scattered in range(len(grid.dims)):
            for parts in {1, len(grid.dims)}:
                try:
                    made = hm.algorithms.all_reduce_recursive_multiplying(
                        grid.dims, grid.wires, scattered=scattered, parts=parts
                    )
                except ArgumentError:  # more ranks than have slots
                    continue
                yield f"by dimensions, {scattered} scattered, {parts} parts", made
    for dims in sorted(one for one in shapes if math.prod(one) == n and sum(one) * n <= _MOST_TRANSFERS // 4):
        for scattered in (0, 1):
            made = hm.algorithms.all_reduce_recursive_multiplying(dims, ("switch",) * 2, scattered=scattered)
            yield f"recursive multiplying {dims}, {scattered} scattered", made


def _around_late_rank(setting: Setting) -> Iterator[tuple[str, hm.Schedule]]:
    """Make forests around a late rank, what goes over the rails of hosts, and what is matched."""
    topology, (late_rank,) = setting.topology, setting.conditions.late
    n, per_host = topology.rank_count, topology.rank_count // topology.node_count
    on_hosts: dict[str, Callable[..., hm.Schedule]] = {
        "late_rails": partial(late_rails, topology, late_rank),
        "late_hosts": partial(late_hosts, topology, late_rank, nbytes=setting.nbytes),
    }
    for name, make in on_hosts.items():
        for pieces in _LATE_PIECES:
            if 1 < topology.node_count < n and 2 * n * per_host * pieces <= _MOST_TRANSFERS:
                try:
                    yield f"{name} ({pieces} pieces)", make(pieces=pieces)
                except ArgumentError:  # not hosts alike, or not with a NIC for each rank
                    break
    for chunks in _LATE_CHUNKS:
        if 2 * (n - 1) * chunks <= _MOST_TRANSFERS and n + topology.switch_count <= _MOST_MATCHED:
            try:
                made = late_matched(topology, late_rank, chunks=chunks, nbytes=setting.nbytes)
            except ArgumentError:  # the others do not reach each other without the late rank
                break
            yield f"late_matched ({chunks} chunks)", made
    own_links = int((topology.links["src"] == late_rank).sum())
    if n + topology.switch_count > _MOST_VERTICES or own_links * topology.link_count > _MOST_LATE_LINKS:
        return
    for pieces in _LATE_PIECES:
        for share in _LATE_SHARES:
            if 2 * (n - 1) * pieces > _MOST_TRANSFERS:
                return
            try:
                found = late_forest(topology, late_rank, pieces=pieces, nbytes=setting.nbytes, share=share)
            except ArgumentError:  # the others do not reach each other without the late rank
                return
            if found.transfer_count <= _MOST_TRANSFERS:
                yield f"late_forest ({pieces} pieces, {share:g} of the buffer)", found
