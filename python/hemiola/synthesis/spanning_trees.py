# SPDX-License-Identifier: Apache-2.0
"""A schedule that uses a topology's full bandwidth, packed from spanning trees; how is in
docs/decisions/0005-synthesis.md."""

from __future__ import annotations

from hemiola._core import Topology, synthesize_forest
from hemiola.arguments import typed
from hemiola.arguments.names import Kind
from hemiola.errors import ArgumentError
from hemiola.progress import ProgressBar
from hemiola.synthesis.result import DEFAULT_NBYTES, Synthesis


@typed
def forest(
    topology: Topology,
    kind: Kind,
    *,
    trees: int | None = None,
    pieces: int = 8,
    root: int = 0,
    nbytes: int = DEFAULT_NBYTES,
) -> Synthesis:
    """Make an all_gather, reduce_scatter, all_reduce, broadcast or reduce that uses a topology's full bandwidth.

    From every rank equally many spanning trees are laid so that together they crowd no link, and each carries
    its part of the rank's share in pieces, one behind the other. A broadcast has all trees at its root, as many as
    the weakest cut around it lets out; a reduce is one turned round. Where ranks are joined both ways, also through
    switches, the pieces of an all_reduce may instead go up and down the same trees, each hung by its middle. Where some
    ranks have fewer links than others, as at the edge of a mesh, that is up to twice as fast. Where `synthesize` misses
    the bottleneck cut, this comes as near to the optimum as the number of pieces allows; where latency counts,
    `synthesize` may be faster.

    Parameters
    ----------
    topology : Topology of at least two ranks, at most 256 ranks and switches.
    kind : "all_gather", "reduce_scatter", "all_reduce", "broadcast" or "reduce".
    trees : int in 1 … 64, trees from every rank, or in all where they have one root or pieces go up and down the same
        tree. By default the fewest up to 16 that come within 1 % of the exact optimum (up and down up to 64, and within
        0.1 %), or the number that comes nearest.
    pieces : int in 1 … 4096, chunks down each tree from a rank: its share has trees * pieces chunks. Up and down
        the same trees go at least so many chunks each, and rank_count * pieces in all.
    root : int, the root of a broadcast or a reduce.
    nbytes : int >= 0, one rank's buffer in bytes. The schedule is right for every size.

    Returns
    -------
    Synthesis, with the exact optimum of the bandwidth as `bound_s`; of an all_reduce through switches or over links
    that differ from one direction to the other, the bound that a choice of lengths proves, about as much; where ranks
    are not joined both ways, that of its two halves one after the other.

    Raises
    ------
    ArgumentError
        Another collective, an argument out of range, a rank that cannot be reached, or a switch that no links
        between ranks can replace.

    Notes
    -----
    Deterministic; a progress bar appears on a terminal once a second has passed. Up and down the same trees or not:
    up to 48 ranks the faster of both for this buffer, beyond by their bounds. Cost: a maximum flow for about every link
    of every tree from a rank, which takes seconds for 100 ranks. Up and down, a search through all trees for every edge
    that breadth-first ones leave out, and a tenth of that time. Sources: trees from every rank [ForestColl, §5], from
    one [edmonds1973]; how many fit that are used both ways [tutte1961; nashwilliams1961; cunningham1985]; packing them
    [roskind1985], and where they share links [garg2007]. Deviation: the number of trees is chosen first and the
    bandwidth of a tree is the largest at which they fit.
    """
    if trees is not None and trees < 1:
        raise ArgumentError(f"forest: expected 1 … 64 trees, found {trees}")
    with ProgressBar("packing trees"):
        found = synthesize_forest(topology, kind, trees=trees or 0, pieces=pieces, nbytes=nbytes, root=root)
    return Synthesis(found.schedule, found.seconds, found.bound_s, found.trials, found.stopped)
