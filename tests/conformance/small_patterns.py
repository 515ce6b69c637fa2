# SPDX-License-Identifier: Apache-2.0
"""Small correct schedules as rows (step, src, dst, chunk, reduce), written out here so that no test of the
judge depends on a generator that the judge judges."""

import hemiola as hm

#: Step, src, dst, chunk, reduce; with scratch also src_slot, dst_slot.
Row = tuple[int, ...]
Pattern = tuple[hm.Collective, list[Row]]


def ring_all_gather(n: int) -> Pattern:
    """In step t rank r passes on the chunk of rank r - t."""
    rows = [(t, r, (r + 1) % n, (r - t) % n, False) for t in range(n - 1) for r in range(n)]
    return hm.Collective.make("all_gather", n, n), rows


def ring_reduce_scatter(n: int) -> Pattern:
    """The chunk of owner o starts at rank o + 1 and collects parts until it reaches o."""
    rows = [(t, r, (r + 1) % n, (r - t - 1) % n, True) for t in range(n - 1) for r in range(n)]
    return hm.Collective.make("reduce_scatter", n, n), rows


def ring_all_reduce(n: int) -> Pattern:
    """Reduce-scatter, then all-gather."""
    gather = [(t + n - 1, *row) for t, *row in ring_all_gather(n)[1]]
    return hm.Collective.make("all_reduce", n, n), ring_reduce_scatter(n)[1] + gather


def doubling_all_reduce(n: int) -> Pattern:
    """Every rank exchanges its sum with the rank at distance 1, 2, 4, …; n is a power of two."""
    rounds = n.bit_length() - 1
    rows = [(t, r, r ^ (1 << t), 0, True) for t in range(rounds) for r in range(n)]
    return hm.Collective.with_owners("all_reduce", n, [0]), rows


def binomial_broadcast(n: int) -> Pattern:
    """In step t the 2^t ranks that hold the chunk send it to as many others."""
    rounds = (n - 1).bit_length()
    rows = [(t, r, r + (1 << t), 0, False) for t in range(rounds) for r in range(1 << t) if r + (1 << t) < n]
    return hm.Collective.make("broadcast", n, 1), rows


def chain_reduce(n: int) -> Pattern:
    """Rank n-1 sends to n-2, which adds and sends to n-3, … down to the root 0."""
    rows = [(t, n - 1 - t, n - 2 - t, 0, True) for t in range(n - 1)]
    return hm.Collective.make("reduce", n, 1), rows


def direct_all_to_all(n: int) -> Pattern:
    """Everyone sends everyone its chunk in one step."""
    rows = [(0, s, d, s * n + d, False) for s in range(n) for d in range(n) if s != d]
    return hm.Collective.make("all_to_all", n, n * n), rows


def relayed_gather(n: int) -> Pattern:
    """All chunks walk down the chain to the root 0, one hop a step."""
    rows = [(t, r - t, r - t - 1, r, False) for r in range(1, n) for t in range(r)]
    return hm.Collective.make("gather", n, n), rows


def direct_scatter(n: int) -> Pattern:
    """The root 0 sends every rank its chunk."""
    return hm.Collective.make("scatter", n, n), [(0, 0, r, r, False) for r in range(1, n)]


def direct_reduce_scatter(n: int) -> Pattern:
    """Everyone sends every owner its part; each owner adds n - 1 parts in one step."""
    rows = [(0, s, d, d, True) for s in range(n) for d in range(n) if s != d]
    return hm.Collective.make("reduce_scatter", n, n), rows


def custom_sum_of_two(n: int) -> Pattern:
    """Ranks 0 and 1 contribute, the last rank wants the sum; the ranks between relay it."""
    rows = [(0, 0, 1, 0, True)] + [(r, r, r + 1, 0, False) for r in range(1, n - 1)]
    return hm.Collective.custom(n, 1, [(0, 0), (1, 0)], [(n - 1, 0)], reducing=True), rows


PATTERNS = (
    ring_all_gather,
    ring_reduce_scatter,
    ring_all_reduce,
    doubling_all_reduce,
    binomial_broadcast,
    chain_reduce,
    direct_all_to_all,
    relayed_gather,
    direct_scatter,
    direct_reduce_scatter,
    custom_sum_of_two,
)
