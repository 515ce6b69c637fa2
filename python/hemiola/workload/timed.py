# SPDX-License-Identifier: Apache-2.0
"""The time of a collective on a network, with the load of each link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Schedule


@dataclass(frozen=True, eq=False)
class Timed:
    """The time of a collective.

    Attributes
    ----------
    seconds : float >= 0.
    busy_s : float64 array, the time that each link's full bandwidth needs for its load.
    source : str, "simulated", "planned", "formula" or "bound".
    algorithm : str.
    schedule : Schedule, where it is at hand and small enough to be simulated.
    """

    seconds: float
    busy_s: NDArray[np.float64]
    source: str
    algorithm: str = ""
    schedule: Schedule | None = None


def in_turn(parts: Sequence[Timed], algorithm: str) -> Timed:
    """Return phases on one network, one after the other, as a whole; a formula's where one of them is."""
    sources = {part.source for part in parts}
    source = "formula" if "formula" in sources else "simulated"
    total = np.sum([part.busy_s for part in parts], axis=0)
    return Timed(sum(part.seconds for part in parts), total, source, algorithm)
