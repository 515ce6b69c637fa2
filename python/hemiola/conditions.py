"""What is asymmetric now: late ranks, slow ranks, sparse data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Conditions:
    """Conditions under which a collective runs.

    Parameters
    ----------
    late : mapping of rank to float, seconds after the others that this rank arrives, >= 0.
    slow : mapping of rank to float, factor >= 1 by which this rank's ports are slower.
    density : float in (0, 1], share of elements that are not zero.

    Ranks are checked against a topology where the conditions are used.
    """

    late: Mapping[int, float] = field(default_factory=dict)
    slow: Mapping[int, float] = field(default_factory=dict)
    density: float = 1.0
