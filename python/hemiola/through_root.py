"""An all-reduce through one rank: parts of the sum flow to it, and results back over the reverse links.

Where a reduce-scatter and an all-gather would cross the same thin link in the same direction one after the other, on
boxes cabled in a line or a star, this uses both directions at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Schedule, Topology
from hemiola.synthesis import DEFAULT_NBYTES, search


def all_reduce_through_root(
    topology: Topology, chunk_count: int, *, root: int | None = None, nbytes: int = DEFAULT_NBYTES
) -> Schedule:
    """Reduce to a root and broadcast from it, chunk by chunk, so that both go on at the same time.

    Parameters
    ----------
    topology : Topology of at least two ranks.
    chunk_count : int >= 1; the more, the more overlap.
    root : int; by default the rank with the least bandwidth, of several the first.
    nbytes : int >= 0, one rank's buffer, for which latency and bandwidth are weighed.

    Returns
    -------
    Schedule, of kind all_reduce.

    Raises
    ------
    ArgumentError
        A rank that cannot be reached, or a number out of range.

    Notes
    -----
    Deterministic; the time of two searches. The broadcast takes the chunks in the order in which their sums are
    complete.
    """
    at = _thinnest(topology) if root is None else root
    reduce, broadcast = (
        search(
            topology, kind, chunk_count, root=at, nbytes=nbytes, trials=1, threads=1, progress=False
        ).schedule
        for kind in ("reduce", "broadcast")
    )
    there, back = np.array(reduce.transfers), np.array(broadcast.transfers)
    back["chunk"] = _renamed(there, back, at, chunk_count)[back["chunk"]]
    back["step"] += reduce.step_count
    return Schedule.from_transfers(reduce.concatenate(broadcast).collective, np.concatenate([there, back]))


def _renamed(there: NDArray[np.void], back: NDArray[np.void], root: int, chunks: int) -> NDArray[np.int64]:
    """Give the chunk that leaves the root first the number of the one whose sum is complete first, and so on."""
    complete = np.zeros(chunks, np.int64)
    into = there[there["dst"] == root]
    np.maximum.at(complete, into["chunk"], into["step"])
    leaves = np.full(chunks, np.iinfo(np.int64).max)
    out = back[back["src"] == root]
    np.minimum.at(leaves, out["chunk"], out["step"])
    number = np.empty(chunks, np.int64)
    number[np.argsort(leaves, kind="stable")] = np.argsort(complete, kind="stable")
    return number


def _thinnest(topology: Topology) -> int:
    """Return the rank with the least bandwidth: an end of a line, an arm of a star.

    Its links are full anyway, and where all that comes in comes one way, chunks are complete in the order of that way.
    """
    links = np.asarray(topology.links)
    bandwidth = np.bincount(links["src"], links["bandwidth"], minlength=topology.rank_count)
    return int(np.argmin(bandwidth[: topology.rank_count]))
