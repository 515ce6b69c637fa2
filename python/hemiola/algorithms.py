"""Published algorithms, as functions that return a schedule, and the registry that says what each costs.

A function is named ``<collective>_<pattern>[_<variant>]``. `names` lists them, `get` returns an `Algorithm` with its
paper, valid sizes, cost formula and exact costs; docs/algorithms.md is made from these. In the formulas n is the rank
count, N the bytes of one rank's buffer, α the latency and β the inverse of the bandwidth.
"""

from hemiola._core.algorithms import (
    Algorithm,
    Paper,
    all_gather_direct,
    all_gather_direct_rounds,
    all_gather_recursive_doubling,
    all_gather_ring,
    all_gather_ring_two_way,
    all_reduce_direct,
    all_reduce_direct_rounds,
    all_reduce_late,
    all_reduce_recursive_doubling,
    all_reduce_recursive_halving_doubling,
    all_reduce_ring,
    all_reduce_ring_two_way,
    all_reduce_stragglar,
    all_reduce_weighted_exchange,
    get,
    names,
    reduce_scatter_direct,
    reduce_scatter_direct_rounds,
    reduce_scatter_recursive_halving,
    reduce_scatter_ring,
    reduce_scatter_ring_two_way,
)

__all__ = [
    "Algorithm",
    "Paper",
    "all_gather_direct",
    "all_gather_direct_rounds",
    "all_gather_recursive_doubling",
    "all_gather_ring",
    "all_gather_ring_two_way",
    "all_reduce_direct",
    "all_reduce_direct_rounds",
    "all_reduce_late",
    "all_reduce_recursive_doubling",
    "all_reduce_recursive_halving_doubling",
    "all_reduce_ring",
    "all_reduce_ring_two_way",
    "all_reduce_stragglar",
    "all_reduce_weighted_exchange",
    "get",
    "names",
    "reduce_scatter_direct",
    "reduce_scatter_direct_rounds",
    "reduce_scatter_recursive_halving",
    "reduce_scatter_ring",
    "reduce_scatter_ring_two_way",
]
