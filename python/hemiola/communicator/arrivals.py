# SPDX-License-Identifier: Apache-2.0
"""Which rank comes last to a communicator's operations for reasons of its own, how often and by how much."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemiola.arguments import typed
from hemiola.errors import ArgumentError

#: A persistent rank is last at least so often, and by so many standard deviations more often than by chance.
_PERSISTENT_SHARE, _DEVIATIONS = 0.5, 3.0
#: Ranks differ by so many seconds in the duration of a call.
_LEAST_LAG_S = 1e-4


@dataclass(frozen=True)
class RankArrivals:
    """How one rank came to the operations.

    Attributes
    ----------
    rank : int.
    last_count : int, operations to which it came last.
    last_share : float, the same as a share of all, 0 … 1.
    p50_s, p95_s, p99_s : float, seconds >= 0: percentiles, over those operations, of how long after the last
        but one it came, which is how long it alone held up the others; 0 where it was never last.
    persistent : bool. It came last to at least half of the operations, more often than chance explains (3 standard
        deviations above one in rank_count). It did so by more than 0.1 ms, and by more than the last but one is behind
        the median.
    """

    rank: int
    last_count: int
    last_share: float
    p50_s: float
    p95_s: float
    p99_s: float
    persistent: bool

    def as_dict(self) -> dict[str, Any]:
        """Return the attributes by name, for JSON.

        Returns
        -------
        dict of str to int, float or bool.
        """
        return dict(vars(self))


@dataclass(frozen=True, eq=False, repr=False)
class Arrivals:
    """How the ranks came to a communicator's latest operations, as `Communicator.arrivals` returns it.

    Attributes
    ----------
    ranks : tuple of RankArrivals, one per rank, in order.
    last_rank : array of int, shape (operations,), oldest first: the rank that came last.
    lag_s : array of float, shape (operations,): how long after the last but one, in seconds. Its distribution is the
        straggler delay of [StragglAR, Figure 2a].
    """

    ranks: tuple[RankArrivals, ...]
    last_rank: NDArray[np.int64]
    lag_s: NDArray[np.float64]

    def __repr__(self) -> str:
        late = "nobody" if self.persistent_rank is None else f"rank {self.persistent_rank}"
        return f"<Arrivals: {len(self.ranks)} ranks, {self.operation_count} operations, late: {late}>"

    def __eq__(self, other: object) -> bool:
        return self._parts() == other._parts() if isinstance(other, Arrivals) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._parts())

    def _parts(self) -> tuple[object, ...]:
        return self.ranks, self.last_rank.tobytes(), self.lag_s.tobytes()

    @classmethod
    @typed
    def of(cls, arrival_s: NDArray[np.float64]) -> Arrivals:
        """Judge the arrival times of some operations.

        Parameters
        ----------
        arrival_s : array of shape (operations, rank_count), in seconds from any moment on: when ranks came. To judge
            only the ranks' own doing: how long each took since it left the operation before.

        Returns
        -------
        Arrivals. Of ranks that come at the same time, the one with the larger number counts as the last.

        Raises
        ------
        ArgumentError
            for an array that is not two-dimensional, has no ranks, or holds times that are not finite.
        """
        times = np.asarray(arrival_s, np.float64)
        if times.ndim != 2 or times.shape[1] < 1 or not np.isfinite(times).all():
            raise ArgumentError(
                f"expected finite arrival times of shape (operations, ranks), found shape {times.shape}"
            )
        operations, rank_count = times.shape
        last = rank_count - 1 - np.argmax(times[:, ::-1], axis=1)
        if rank_count == 1:
            lag_s = np.zeros(operations)
        else:
            two_last = np.partition(times, rank_count - 2, axis=1)[:, -2:]
            lag_s = two_last[:, 1] - two_last[:, 0]
        usual_s = _usual_lag_s(times)
        ranks = tuple(
            _judge(rank, rank_count, lag_s[last == rank], operations, usual_s) for rank in range(rank_count)
        )
        return cls(ranks, last, lag_s)

    @property
    def operation_count(self) -> int:
        """How many operations are looked at."""
        return len(self.lag_s)

    @property
    def persistent_rank(self) -> int | None:
        """The rank that is persistently late, if there is one."""
        return next((one.rank for one in self.ranks if one.persistent), None)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields that `hemiola run --json` shows.

        Returns
        -------
        dict, with the ranks as a list of dicts.
        """
        return {
            "operation_count": self.operation_count,
            "persistent_rank": self.persistent_rank,
            "ranks": [one.as_dict() for one in self.ranks],
        }


def _usual_lag_s(times: NDArray[np.float64]) -> float:
    """Return how long after the median rank the last but one comes, typically; a lag below that is like the others'."""
    if times.shape[0] == 0 or times.shape[1] < 2:
        return _LEAST_LAG_S
    in_order = np.sort(times, axis=1)
    behind_s = in_order[:, -2] - in_order[:, (times.shape[1] - 1) // 2]
    return max(_LEAST_LAG_S, float(np.median(behind_s)))


def _judge(
    rank: int, rank_count: int, lag_s: NDArray[np.float64], operations: int, usual_s: float
) -> RankArrivals:
    """Sum up a rank from how late it was in the operations to which it came last."""
    percentiles = np.percentile(lag_s, [50, 95, 99]) if len(lag_s) else np.zeros(3)
    chance = 1 / rank_count
    by_chance = operations * chance + _DEVIATIONS * math.sqrt(operations * chance * (1 - chance))
    p50_s, p95_s, p99_s = (float(value) for value in percentiles)
    is_often_last = len(lag_s) >= _PERSISTENT_SHARE * operations and len(lag_s) > by_chance
    persistent = rank_count > 1 and is_often_last and p50_s > usual_s
    share = len(lag_s) / operations if operations else 0.0
    return RankArrivals(rank, len(lag_s), share, p50_s, p95_s, p99_s, persistent)
