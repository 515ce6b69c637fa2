# SPDX-License-Identifier: Apache-2.0
"""Which schedules a library runs for a collective: those that a comparison prices, the fastest of each library."""

from __future__ import annotations

from hemiola._core import Topology

#: The libraries of a comparison, in the order of reports. The bound is none, but is priced like one.
HEMIOLA, RING, NCCL, PCCL, GLOO, BOUND = "hemiola", "ring", "nccl-like", "pccl-like", "gloo-like", "bound"
OTHERS = (RING, NCCL, PCCL, GLOO)
LIBRARIES = (HEMIOLA, *OTHERS, BOUND)

_RINGS = {
    "all_reduce": ("all_reduce_ring",),
    "all_gather": ("all_gather_ring",),
    "reduce_scatter": ("reduce_scatter_ring",),
    "all_to_all": ("all_to_all_pairwise",),
    "broadcast": ("broadcast_chain",),
    "reduce": ("reduce_chain",),
    "gather": ("gather_direct",),
    "scatter": ("scatter_direct",),
}
_NCCL = {
    "all_reduce": ("all_reduce_ring", "all_reduce_double_binary_tree"),
    "all_to_all": ("all_to_all_direct",),
}
_PCCL = {
    "all_reduce": ("all_reduce_recursive_halving_doubling",),
    "all_gather": ("all_gather_recursive_doubling",),
    "reduce_scatter": ("reduce_scatter_recursive_halving",),
}
_GLOO = {
    "reduce_scatter": ("all_reduce_ring",),
    "all_to_all": ("all_to_all_direct",),
    "broadcast": ("broadcast_binomial",),
}
_OF_HOSTS = ("all_reduce", "all_gather", "reduce_scatter")


def algorithms_of(library: str, kind: str, topology: Topology) -> tuple[str, ...]:
    """Return the names of a library's algorithms for a collective on a network.

    Parameters
    ----------
    library : str, one of `OTHERS`.
    kind : str, a collective.
    topology : Topology of the ranks that run it.

    Returns
    -------
    tuple of str, at least one, of which the library runs the fastest.

    Notes
    -----
    ring: one ring, and rounds of one partner in an all-to-all. nccl-like: rings over all NICs, double binary trees,
    direct exchanges [nccl2015]. pccl-like: rings inside hosts, halving and doubling between them [PCCL, §4]. gloo-like:
    one ring, and a reduce-scatter is an all-reduce of which each rank keeps its part, as in PyTorch's process group.
    """
    counts = ranks_of_hosts(topology)
    is_of_hosts = kind in _OF_HOSTS and len(counts) > 1 and len(set(counts)) == 1 and counts[0] > 1
    if library == NCCL:
        rings = (f"{kind}_multi_ring",) if is_of_hosts else ()
        return rings + _NCCL.get(kind, _RINGS[kind])
    if library == PCCL:
        return (f"{kind}_pccl",) if is_of_hosts else _PCCL.get(kind, _NCCL.get(kind, _RINGS[kind]))
    return _GLOO.get(kind, _RINGS[kind]) if library == GLOO else _RINGS[kind]


def ranks_of_hosts(topology: Topology) -> list[int]:
    """Return the number of ranks of each host."""
    counts: dict[int, int] = {}
    for node in topology.nodes.tolist():
        counts[node] = counts.get(node, 0) + 1
    return list(counts.values())
