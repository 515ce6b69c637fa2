# SPDX-License-Identifier: Apache-2.0
"""Derives figures from times, by arithmetic alone: costs by least squares, equal rates, shared NICs, and the ranks to
measure together next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hemiola.errors import ArgumentError

Floats = NDArray[np.float64]

#: A lone message's time is its latency for this share at least. Several at once that take as many times as long as
#: one have waited for cores; a network without a latency there is not.
_LEAST_LATENCY = 0.1
#: Two that share a NIC take twice as long together as alone; two that do not, as long.
_SHARED_SLOWDOWN = 1.5


def latency_and_message(
    latencies: Sequence[float], messages: Sequence[float], taken_s: Floats
) -> tuple[float, float]:
    """Find the cost of one latency and one message from times of so many of both, by least squares.

    Parameters
    ----------
    latencies, messages : counts, of each measurement.
    taken_s : array, seconds > 0. The fit minimizes each measurement's error as a share of it, long ones like short
        ones.

    Returns
    -------
    Two times in seconds: the latency is a tenth of the shortest time that had one at least, the message not below 0.
    """
    counts = np.column_stack([latencies, messages]) / taken_s[:, None]
    latency_s, message_s = np.linalg.lstsq(counts, np.ones(len(taken_s)), rcond=None)[0]
    least_s = _LEAST_LATENCY / counts[:, 0].max()
    if message_s < 0:
        latency_s, message_s = _alone(counts[:, 0], 1.0), 0.0
    elif latency_s < least_s:
        latency_s, message_s = least_s, max(0.0, _alone(counts[:, 1], 1 - least_s * counts[:, 0]))
    return float(latency_s), float(message_s)


def _alone(counts: Floats, shares: Floats | float) -> float:
    """Return what one costs of which so many cost such shares, by least squares."""
    return float((counts * shares).sum() / (counts**2).sum())


def step_between(few_s: float, few: int, many_s: float, many: int) -> float:
    """Return the time of a step from that of chains with few steps and with many, in seconds.

    The time outside the steps counts as a third of the long chain at most: a short chain that says more was disturbed.
    """
    return max(many_s - few_s, many_s * 2 / 3) / (many - few)


def levelled(values: Floats, tolerance: float) -> Floats:
    """Return values of which those that differ by less than a share of the smaller one, but for noise equal, are equal.

    From the smallest on, all up to 1 + `tolerance` times it are replaced by their mean, and so on with the rest.
    """
    made = np.asarray(values, np.float64).copy()
    order = np.argsort(made, kind="stable")
    begin = 0
    for end in range(1, len(order) + 1):
        if end == len(order) or made[order[end]] > made[order[begin]] * (1 + tolerance):
            made[order[begin:end]] = made[order[begin:end]].mean()
            begin = end
    return made


def nic_groups(slowdown: Floats) -> list[list[int]]:
    """Say which ranks of a node share a NIC.

    Parameters
    ----------
    slowdown : array of shape (ranks, ranks), the factor by which two that send at once take longer than alone; NaN
        where not measured. Looked at are only pairs i < j where i is the first of its NIC and j on none before i's.

    Returns
    -------
    Lists of ranks, by their first ones.

    Raises
    ------
    ArgumentError
        where a pair that is looked at has not been measured; `unknown_pair` says which.
    """
    groups, unknown = _grouped(slowdown)
    if unknown is not None:
        raise ArgumentError(f"NICs: whether ranks {unknown[0]} and {unknown[1]} share one was not measured")
    return groups


def unknown_pair(slowdown: Floats) -> tuple[int, int] | None:
    """Return the first pair that `nic_groups` looks at and that has not been measured; None: all have."""
    return _grouped(slowdown)[1]


def _grouped(slowdown: Floats) -> tuple[list[list[int]], tuple[int, int] | None]:
    groups: list[list[int]] = []
    for rank in range(len(slowdown)):
        for group in groups:
            found = slowdown[group[0], rank]
            if np.isnan(found):
                return groups, (group[0], rank)
            if found > _SHARED_SLOWDOWN:
                group.append(rank)
                break
        else:
            groups.append([rank])
    return groups, None


class NodeRates:
    """The rates of each node's NICs, from rates of two nodes at a time: those are the slower one's.

    A node's own rate is known once it was as fast as the fastest, or met one that is faster than itself.
    """

    #: Rates that differ by less are one.
    TOLERANCE = 0.08

    def __init__(self, count: int) -> None:
        self._together = np.full((count, count), np.nan)

    def note(self, a: int, b: int, rate: float) -> None:
        """Note the rate of two nodes, in bytes per second."""
        self._together[a, b] = self._together[b, a] = rate

    def rates(self) -> Floats:
        """Return each node's best rate; 0 for one that has met no other."""
        return np.asarray(np.nan_to_num(self._together, nan=0.0).max(axis=1, initial=0.0))

    def unsettled(self) -> list[tuple[int, int]]:
        """Return couples that would tell more: nodes whose partners may have been the slower ones, with fast ones."""
        rates = self.rates()
        fast = rates * (1 + self.TOLERANCE) >= rates.max(initial=0.0)
        met = ~np.isnan(self._together)
        by_itself = (met & (rates[None, :] > rates[:, None] * (1 + self.TOLERANCE))).any(axis=1)
        free = list(np.flatnonzero(fast))
        found = []
        for node in np.flatnonzero(~fast & ~by_itself):
            partner = next((other for other in free if not met[node, other]), None)
            if partner is not None:
                free.remove(partner)
                found.append((int(node), int(partner)))
        return found
