# SPDX-License-Identifier: Apache-2.0
"""Which ports and links are slow: the fewest that explain which pairs of ranks are."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hemiola.diagnosis.evidence import Evidence, Pair, Way

#: A pair counts as slow from this factor on; a way is slow where this share of its pairs is.
_SLOW_PAIR, _SLOW_SHARE = 1.3, 0.9
#: The rate that so many of a hundred pairs do not exceed is that of healthy ones: most are healthy.
_HEALTHY_PERCENTILE = 80
_MOST_FINDINGS = 8


def slow_ways(evidence: Evidence) -> list[tuple[Way, float]]:
    """Return slow ports and links with their factors, those that explain most first.

    A pair that is slow has something slow on its way. A slow part makes all pairs slow that use it; so a part that a
    fast pair uses is healthy. Of the rest, the part that explains most pairs is taken, then the one that explains most
    of the others; a rank's ports rather than a link where both explain the same.
    """
    factors = _factors(evidence)
    slow = {pair for pair, factor in factors.items() if factor >= _SLOW_PAIR}
    unexplained = set(slow)
    found: list[tuple[Way, float]] = []
    while unexplained and len(found) < _MOST_FINDINGS:
        suspects = [way for way in evidence.ways if _is_slow(way, slow, factors)]
        best = max(suspects, key=lambda way: _explains(way, unexplained), default=None)
        if best is None or not best.pairs & unexplained:
            break
        found.append((best, float(np.median([factors[pair] for pair in best.pairs & unexplained]))))
        unexplained -= best.pairs
    return found


def _factors(evidence: Evidence) -> dict[Pair, float]:
    """Say of each pair that was measured how many times slower it is than healthy ones."""
    measured = np.argwhere(np.isfinite(evidence.share) & (evidence.share > 0))
    if not len(measured):
        return {}
    shares = evidence.share[tuple(measured.T)]
    healthy = float(np.percentile(shares, _HEALTHY_PERCENTILE))
    return {(int(src), int(dst)): healthy / share for (src, dst), share in zip(measured, shares, strict=True)}


def _is_slow(way: Way, slow: set[Pair], measured: Iterable[Pair]) -> bool:
    """Say whether what was measured of a way allows it to be slow."""
    seen = way.pairs & set(measured)
    return bool(seen) and len(seen & slow) >= _SLOW_SHARE * len(seen)


def _explains(way: Way, unexplained: set[Pair]) -> tuple[int, bool]:
    """How many pairs a way explains; a port goes first among equals."""
    return len(way.pairs & unexplained), way.rank is not None
