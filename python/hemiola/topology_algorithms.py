"""Algorithms by name for which a topology says everything: published ones, tree packings, and integer programs.

Names are ``<collective>_<pattern>`` as in `hemiola.algorithms`; the command line makes schedules by them."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from hemiola import algorithms
from hemiola._core import Schedule, Topology
from hemiola.errors import ArgumentError
from hemiola.synthesis import DEFAULT_NBYTES, forest
from hemiola.topology.grid_of import grid_of

#: topology, bytes, root, and how finely to cut the buffer, where the caller says.
_Maker = Callable[[Topology, int, int, int | None], Schedule]

#: Of forests and integer programs.
_KINDS = ("all_gather", "reduce_scatter", "all_reduce", "broadcast", "reduce")


def names() -> list[str]:
    """List them."""
    return list(_makers())


def patterns() -> list[str]:
    """List what comes behind the collective in their names."""
    return list(dict.fromkeys(pattern for _, pattern in map(split, names())))


def split(name: str) -> tuple[str, str]:
    """Take a name out of `names` apart: collective and pattern."""
    kind = next(kind for kind in _KINDS if name.startswith(f"{kind}_"))
    return kind, name.removeprefix(f"{kind}_")


def generate(
    name: str,
    topology: Topology,
    *,
    nbytes: int = DEFAULT_NBYTES,
    root: int = 0,
    chunk_count: int | None = None,
) -> Schedule:
    """Make the named algorithm's schedule for a topology.

    Parameters
    ----------
    name : str out of `names`.
    topology : Topology. BlueConnect and Themis want a grid, C-Cube a DGX-1, MultiTree and the programs no switches.
    nbytes : int >= 0, one rank's buffer, for what weighs latency against bandwidth.
    root : int, of a broadcast or a reduce.
    chunk_count : int >= 1, in the algorithm's own unit: parts of the buffer (BlueConnect, Themis), chunks
        (C-Cube), pieces a tree (forest), chunks per rank (SCCL, TACCL); by default the function's own.

    Returns
    -------
    Schedule

    Raises
    ------
    ArgumentError
        An unknown name, a topology that the algorithm is not for, or a chunk_count that it does not take.
    TimeoutError
        An integer program found nothing within a minute.
    """
    makers = _makers()
    if name not in makers:
        raise ArgumentError(f"there is no '{name[:60]}' for a topology; there are: {', '.join(makers)}")
    return makers[name](topology, nbytes, root, chunk_count)


@functools.cache
def _makers() -> dict[str, _Maker]:
    makers: dict[str, _Maker] = {
        "all_gather_multitree": functools.partial(_multitree, algorithms.all_gather_multitree),
        "reduce_scatter_multitree": functools.partial(_multitree, algorithms.reduce_scatter_multitree),
        "all_reduce_multitree": functools.partial(_multitree, algorithms.all_reduce_multitree),
        "all_reduce_blueconnect": functools.partial(_on_grid, "all_reduce_blueconnect"),
        "all_reduce_themis": functools.partial(_on_grid, "all_reduce_themis"),
        "all_reduce_c_cube": _c_cube,
    }
    makers |= {f"{kind}_forest": functools.partial(_forest, kind) for kind in _KINDS}
    for program in ("sccl", "taccl"):
        makers |= {f"{kind}_{program}": functools.partial(_program, program, kind) for kind in _KINDS}
    return makers


def _multitree(
    make: Callable[[Topology], Schedule], topology: Topology, _nbytes: int, _root: int, chunks: int | None
) -> Schedule:
    if chunks is not None:
        raise ArgumentError("multitree has one chunk per rank; leave the number of chunks out")
    return make(topology)


def _on_grid(name: str, topology: Topology, nbytes: int, _root: int, chunks: int | None) -> Schedule:
    grid = grid_of(topology)
    if grid is None:
        raise ArgumentError(
            f"{name} runs on grids, found {_named(topology)}, which is none: expected up to four dimensions of lines, "
            f"rings, all pairs or switches, each with links alike"
        )
    make = algorithms.all_reduce_themis if name == "all_reduce_themis" else algorithms.all_reduce_blueconnect
    parts = {} if chunks is None else {"chunk_count": chunks}
    return make(
        grid.dims, grid.wires, latency_s=grid.latency_s, bandwidth=grid.bandwidth, nbytes=nbytes, **parts
    )


def _c_cube(topology: Topology, _nbytes: int, _root: int, chunks: int | None) -> Schedule:
    schedule = algorithms.all_reduce_c_cube(**({} if chunks is None else {"chunk_count": chunks}))
    linked = set(np.asarray(topology.links)[["src", "dst"]].tolist())
    used = set(np.asarray(schedule.transfers)[["src", "dst"]].tolist())
    if topology.rank_count != schedule.rank_count or not used <= linked:
        raise ArgumentError(
            f"all_reduce_c_cube runs on a DGX-1, found {_named(topology)}, which lacks links of it"
        )
    return schedule


def _forest(kind: str, topology: Topology, nbytes: int, root: int, chunks: int | None) -> Schedule:
    pieces = {} if chunks is None else {"pieces": chunks}
    return forest(topology, kind, root=root, nbytes=nbytes, **pieces).schedule


def _program(
    program: str, kind: str, topology: Topology, nbytes: int, root: int, chunks: int | None
) -> Schedule:
    from hemiola import optimal  # SciPy's solver takes a while to load

    per_rank = 1 if chunks is None else chunks
    if program == "sccl":
        return optimal.sccl(topology, kind, per_rank, root=root).schedule
    return optimal.taccl(topology, kind, per_rank, nbytes=nbytes, root=root).schedule


def _named(topology: Topology) -> str:
    return f"'{topology.name[:60]}'" if topology.name else f"a network of {topology.rank_count} ranks"
