# SPDX-License-Identifier: Apache-2.0
"""Which ports and pairs of hosts are slow, by how fast ports reach each other.

The model: a message from a to b is as fast as the slowest of a's port out, b's port in, and the path between the two.
So a port is as fast as its best pair; once both ports are known, the rest is the path's. All is compared with the
median port: a network that is slow for all is slow for nobody, and fewer than half of the ports can be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Speeds = NDArray[np.float64]

#: A smaller factor may be noise, so it is left to the operations; below the second one it is none.
SLOW = 1.6
HEALTHY = 1.2
#: Between these it is a near thing.
_NEAR, _CERTAIN = 1.4, 1.8
#: A pair that is slow one way alone is so many times slower at least.
_ONE_WAY = 1.5
#: Of fewer ports nobody can say which one is slow.
_LEAST_PORTS = 3


@dataclass(frozen=True)
class SlowPorts:
    """Factors of ports, by number, and of pairs (src, dst) whose ports are faster than they are together."""

    ports: dict[int, float]
    pairs: dict[tuple[int, int], float]


def slow_ports(speeds: Speeds, least: float = SLOW) -> SlowPorts:
    """Say which ports and pairs are slow.

    Parameters
    ----------
    speeds : array of shape (ports, ports), bytes per second, or shares of the expected rates; NaN where not measured.
    least : float, the factor from which on they count as slow.

    Returns
    -------
    SlowPorts.
    """
    if len(speeds) < _LEAST_PORTS or not np.isfinite(speeds).any():
        return SlowPorts({}, {})
    known = np.nan_to_num(speeds, nan=0.0)
    out, into = known.max(axis=1), known.max(axis=0)
    factors = np.maximum(_slower(out), _slower(into))
    ports = {int(port): float(factors[port]) for port in np.flatnonzero(factors >= least)}
    allowed = np.minimum(out[:, None], into[None, :])
    pairs = {
        (int(src), int(dst)): float(allowed[src, dst] / speeds[src, dst])
        for src, dst in np.argwhere(np.isfinite(speeds))
        if allowed[src, dst] >= least * speeds[src, dst]
    }
    return SlowPorts(ports, {pair: factor for pair, factor in pairs.items() if _counts(pair, pairs, least)})


def _counts(pair: tuple[int, int], pairs: dict[tuple[int, int], float], least: float) -> bool:
    """Lost packets make one direction slow, seldom both; so one alone must be slower."""
    return pair[::-1] in pairs or pairs[pair] >= _ONE_WAY * least


def suspects(speeds: Speeds, *, is_early: bool) -> set[tuple[int, int]]:
    """Return the pairs that are to be measured again before they, or with them their ports, are called slow.

    For a port, all of its pairs, since the rates to compare it with may have been disturbed. Later on, only for one of
    which it is a near thing.
    """
    found = slow_ports(speeds, HEALTHY)
    if any(is_early or _NEAR <= factor < _CERTAIN for factor in found.ports.values()):
        return {(int(src), int(dst)) for src, dst in np.argwhere(np.isfinite(speeds))}
    return set(found.pairs)


def _slower(values: Speeds) -> Speeds:
    """By how much each is slower than the median one, of an even number the upper."""
    return np.asarray(np.sort(values)[len(values) // 2] / np.maximum(values, 1e-9))
