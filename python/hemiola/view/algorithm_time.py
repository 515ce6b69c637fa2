# SPDX-License-Identifier: Apache-2.0
"""The time of one algorithm, as pictures and tables show it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemiola.errors import ArgumentError


def refuse_not_finite(numbers: Iterable[float | None], whose: str) -> None:
    """Raise ArgumentError for a number that no picture has a place for; None is the absence of one."""
    for number in numbers:
        if number is not None and not math.isfinite(number):
            raise ArgumentError(f"expected finite numbers to draw, found {number} for {whose}")


@dataclass(frozen=True)
class AlgorithmTime:
    """One group of bars, in seconds; None where not known. `spread_s` is (p10, p99), drawn as a whisker."""

    name: str
    measured_s: float | None = None
    predicted_s: float | None = None
    spread_s: tuple[float, float] | None = None

    @classmethod
    def measured(
        cls, name: str, durations_s: Sequence[float] | NDArray[np.float64], predicted_s: float | None = None
    ) -> AlgorithmTime:
        """Take the median of repetitions, and a whisker from their 10th to their 99th percentile."""
        p10_s, p50_s, p99_s = (float(one) for one in np.percentile(durations_s, [10, 50, 99]))
        return cls(name, p50_s, predicted_s, (p10_s, p99_s))


@dataclass(frozen=True)
class TimesAtSize:
    """The times of all algorithms for one size in bytes, beside the bound in seconds; None where there is none."""

    nbytes: int
    times: tuple[AlgorithmTime, ...]
    bound_s: float | None = None
