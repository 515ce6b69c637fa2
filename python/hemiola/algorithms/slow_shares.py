# SPDX-License-Identifier: Apache-2.0
"""How much of the buffer each of several unequally slow ranks owns in a direct exchange, best for each kind of port.

In such an exchange rank i sends j its raw part of j's section and its own finished section: f_i + f_j of the buffer
between each two ranks, each way. The cost of that to the ports decides the shares f."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from hemiola.algorithms import highs
from hemiola.algorithms.number_arrays import Floats, Integers
from hemiola.errors import ArgumentError

PortTime = Callable[[Floats, Floats], float]

#: A fastest rank's section is cut into at most so many units.
_MOST_UNITS = 32
#: Fewer units are taken where they cost no more than this, relative to the best.
_UNIT_TOLERANCE = 1e-3
#: A port slower than this is planned for as if it were so slow: its rank owns nothing and is busy to the end anyway.
_SLOWEST = 1e4


@dataclass(frozen=True)
class Shares:
    """Whole units of the buffer per rank, and the busiest port's time over N·β of a healthy one."""

    units: Integers
    time: float


def relative_factors(where: str, rank_count: int, slow: Mapping[int, float]) -> Floats:
    """Return one factor per rank, relative to the fastest, at most 1e4: where every rank is equally slow, nobody is.

    Raises
    ------
    ArgumentError
        There are fewer than 2 ranks, a rank does not exist, or a factor is below 1 or not finite.
    """
    if rank_count < 2:
        raise ArgumentError(f"{where}: expected at least 2 ranks, found {rank_count}")
    factors = np.ones(rank_count)
    for rank, factor in slow.items():
        if not 0 <= rank < rank_count:
            raise ArgumentError(f"{where}: slow names rank {rank}, expected 0 … {rank_count - 1}")
        if not math.isfinite(factor) or factor < 1:
            raise ArgumentError(f"{where}: expected a finite factor >= 1 for rank {rank}, found {factor}")
        factors[rank] = factor
    relative: Floats = np.minimum(factors / factors.min(), _SLOWEST)
    return relative


def one_port_shares(factors: Floats) -> Shares:
    """Return the best shares where a port carries one message at a time, at the pace of the slower end.

    Notes
    -----
    A linear program: the least T such that every rank's messages, max(l_i, l_j)·(f_i + f_j) each, fit into T. Ranks of
    one factor get one share, so it has as many variables as there are different factors.
    """
    kinds, kind_of, count = np.unique(factors, return_inverse=True, return_counts=True)
    pace = np.maximum.outer(kinds, kinds)
    load = pace * count
    np.fill_diagonal(load, load.diagonal() + (pace * count).sum(axis=1) - 2 * kinds)
    shares, _ = highs.cheapest_shares(
        np.append(np.zeros(len(kinds)), 1.0),
        np.column_stack([load, -np.ones(len(kinds))]),
        np.append(count, 0.0),
    )
    return _in_units(shares[:-1][kind_of], factors, one_port_time)


def shared_port_shares(factors: Floats) -> Shares:
    """Return the shares with which ports that carry all messages at once attain [OptCC, Theorem 2]."""
    ranks = len(factors)
    time = max(2 * (ranks - 1) / (1 / factors).sum(), factors.max())
    spare = time / factors - 1 if ranks > 2 else np.ones(ranks)
    return _in_units(spare / spare.sum(), factors, shared_port_time)


def one_port_time(shares: Floats, factors: Floats) -> float:
    """Return the time of the busiest port, one message at a time at the pace of its slower end."""
    messages = np.maximum.outer(factors, factors) * np.add.outer(shares, shares)
    np.fill_diagonal(messages, 0)
    return float(messages.sum(axis=1).max())


def shared_port_time(shares: Floats, factors: Floats) -> float:
    """Return the time of the busiest port where messages share it and a healthy rank's loses nothing to slow peers."""
    return float((factors * ((len(factors) - 2) * shares + shares.sum())).max())


def _in_units(shares: Floats, factors: Floats, time_of: PortTime) -> Shares:
    """Round the shares to few whole units, the fastest rank's share to 1 … _MOST_UNITS of them."""
    found = []
    for most in range(1, _MOST_UNITS + 1):
        units = np.rint(shares / shares.max() * most).astype(np.int64)
        found.append(Shares(units, time_of(units / units.sum(), factors)))
    best = min(candidate.time for candidate in found)
    return next(candidate for candidate in found if candidate.time <= best * (1 + _UNIT_TOLERANCE))
