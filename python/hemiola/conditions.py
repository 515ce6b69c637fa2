"""What is asymmetric now: late ranks, slow ranks, sparse data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from hemiola.errors import ArgumentError


@dataclass(frozen=True)
class Conditions:
    """Conditions under which a collective runs.

    Parameters
    ----------
    late : mapping of rank to float, seconds after the others that this rank arrives, >= 0.
    slow : mapping of rank to float, factor >= 1 by which this rank's ports are slower.
    density : float in (0, 1], share of elements that are not zero.

    Raises
    ------
    ArgumentError
        A value is outside its range. Ranks are checked against a topology where the conditions are used.
    """

    late: Mapping[int, float] = field(default_factory=dict)
    slow: Mapping[int, float] = field(default_factory=dict)
    density: float = 1.0

    def __post_init__(self) -> None:
        for rank, seconds in self.late.items():
            if not (seconds >= 0 and math.isfinite(seconds)):
                raise ArgumentError(
                    f"conditions: expected a finite late[{rank}] >= 0 seconds, found {seconds}"
                )
        for rank, factor in self.slow.items():
            if not (factor >= 1 and math.isfinite(factor)):
                raise ArgumentError(f"conditions: expected a finite slow[{rank}] >= 1, found {factor}")
        if not 0 < self.density <= 1:
            raise ArgumentError(f"conditions: expected a density in (0, 1], found {self.density}")
