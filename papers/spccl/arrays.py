# SPDX-License-Identifier: Apache-2.0
"""Arrays with zeros as the paper and this report look at them, and the least size of a message of them by information
theory."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hemiola import codecs

Floats = NDArray[np.float32]

#: Shares of zeros, as the report's rows have them.
SPARSITIES = (0.0, 0.01, 0.05, 0.1, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999)
#: Elements of a slice: 1 MiB, what the engine sends at once.
SLICE = 1 << 18
#: What a coded message must save, as the engine has it; above, the plain bytes are sent.
MOST_OF_PLAIN = 0.97
_RUN = 64
_SKEWED_SHARE = 0.9


def random(density: float, elements: int, rank: int) -> Floats:
    """Nonzeros at places of their own on every rank, independently."""
    draws = np.random.default_rng([1, rank])
    return _filled(draws, draws.random(elements, np.float32) < density)


def clustered(density: float, elements: int, rank: int) -> Floats:
    """Nonzeros in runs of 64 neighbours, other ones on every rank."""
    draws = np.random.default_rng([2, rank])
    return _filled(draws, np.repeat(draws.random(-(-elements // _RUN)) < density, _RUN)[:elements])


def skewed(density: float, elements: int, rank: int) -> Floats:
    """Nine tenths of the nonzeros in the first tenth of the array, as far as they fit; the rest behind it."""
    draws = np.random.default_rng([3, rank])
    front = elements // 10
    dense = min(1.0, _SKEWED_SHARE * density * elements / max(1, front))
    rest = (density * elements - dense * front) / (elements - front)
    wanted = np.full(elements, rest, np.float32)
    wanted[:front] = dense
    return _filled(draws, draws.random(elements, np.float32) < wanted)


def identical(density: float, elements: int, rank: int) -> Floats:
    """The same places on all ranks, other values."""
    chosen = np.random.default_rng(4).random(elements, np.float32) < density
    return _filled(np.random.default_rng([4, rank]), chosen)


#: Where nonzeros may stand: a function of density, elements and rank.
PATTERNS: dict[str, Callable[[float, int, int], Floats]] = {
    "random": random,
    "clustered": clustered,
    "skewed by layer": skewed,
    "identical on all ranks": identical,
}


def _filled(draws: np.random.Generator, chosen: NDArray[np.bool_]) -> Floats:
    x = np.zeros(chosen.size, np.float32)
    x[chosen] = draws.standard_normal(int(np.count_nonzero(chosen)), np.float32)
    return x


def limit_bytes(elements: int, nonzeros: float) -> float:
    """Return the entropy of so many random places and 4 bytes for each value."""
    d = nonzeros / elements
    if d in (0.0, 1.0):
        return 4 * nonzeros
    entropy = -d * math.log2(d) - (1 - d) * math.log2(1 - d)
    return elements * entropy / 8 + 4 * nonzeros


def union(density: float, ranks: int) -> float:
    """Return the density of the sum of independent arrays: 1-(1-d)^k."""
    return -math.expm1(ranks * math.log1p(-density)) if density < 1 else 1.0


def message_bytes(x: Floats, format: str | None = None) -> int:
    """Return an array's size on the wire: slice by slice coded, headers included, or plain where that saves too little.

    With a format named all slices are coded in it, at any size.
    """
    total = 0
    for begin in range(0, x.size, SLICE):
        piece = x[begin : begin + SLICE]
        coded = len(codecs.encode(piece, format))
        plain = format is None and coded > MOST_OF_PLAIN * piece.nbytes
        total += piece.nbytes if plain else coded
    return total
