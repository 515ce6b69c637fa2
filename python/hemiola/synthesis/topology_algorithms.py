# SPDX-License-Identifier: Apache-2.0
"""Algorithms by name for which a topology says everything: published ones, tree packings, and integer programs.

Names are ``<collective>_<pattern>`` as in `hemiola.algorithms`; the command line makes schedules by them."""

from __future__ import annotations

import functools
from collections.abc import Callable

from hemiola import algorithms
from hemiola._core import Schedule, Topology
from hemiola.arguments.names import Kind
from hemiola.conditions import Conditions
from hemiola.errors import ArgumentError
from hemiola.synthesis.result import DEFAULT_NBYTES
from hemiola.synthesis.spanning_trees import forest
from hemiola.topology.port_speed import port_speed

#: topology, bytes, root, and how finely to cut the buffer, where the caller says.
_Maker = Callable[[Topology, int, int, int | None], Schedule]

#: Of forests and integer programs.
_KINDS: tuple[Kind, ...] = ("all_gather", "reduce_scatter", "all_reduce", "broadcast", "reduce")


def names() -> list[str]:
    """List them."""
    return list(_makers())


def patterns() -> list[str]:
    """List the patterns behind the collective in their names."""
    return list(dict.fromkeys(pattern for _, pattern in map(split, names())))


def split(name: str) -> tuple[Kind, str]:
    """Take a name out of `names` apart: collective and pattern."""
    if name in algorithms.names(needs="topology"):
        kind = algorithms.get(name).kind
    else:
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
    topology : Topology. BlueConnect and Themis want a grid, mesh trees one of lines, C-Cube a DGX-1, MultiTree and the
        programs no switches.
    nbytes : int >= 0, one rank's buffer, for algorithms that weigh latency against bandwidth.
    root : int, of a broadcast or a reduce.
    chunk_count : int >= 1, in the algorithm's own unit: parts of the buffer (BlueConnect, Themis), chunks
        (C-Cube), chunks of the largest tree (mesh trees), pieces a tree (forest), chunks per rank (SCCL, TACCL); by
        default the function's own.

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


def _makers() -> dict[str, _Maker]:
    makers: dict[str, _Maker] = {
        name: functools.partial(_published, name) for name in algorithms.names(needs="topology")
    }
    makers |= {f"{kind}_forest": functools.partial(_forest, kind) for kind in _KINDS}
    for program in ("sccl", "taccl"):
        makers |= {f"{kind}_{program}": functools.partial(_program, program, kind) for kind in _KINDS}
    return makers


def _published(name: str, topology: Topology, nbytes: int, root: int, chunks: int | None) -> Schedule:
    algorithm = algorithms.get(name)
    task = algorithms.Task(
        algorithm.kind, topology.rank_count, nbytes, port_speed(topology), Conditions(), root, topology
    )
    return algorithm.schedule_for(task, chunk_count=chunks)


def _forest(kind: Kind, topology: Topology, nbytes: int, root: int, chunks: int | None) -> Schedule:
    pieces = {} if chunks is None else {"pieces": chunks}
    return forest(topology, kind, root=root, nbytes=nbytes, **pieces).schedule


def _program(
    program: str, kind: Kind, topology: Topology, nbytes: int, root: int, chunks: int | None
) -> Schedule:
    from hemiola.synthesis import optimal  # SciPy's solver takes a while to load

    per_rank = 1 if chunks is None else chunks
    if program == "sccl":
        return optimal.sccl(topology, kind, per_rank, root=root).schedule
    return optimal.taccl(topology, kind, per_rank, nbytes=nbytes, root=root).schedule
