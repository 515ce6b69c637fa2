# SPDX-License-Identifier: Apache-2.0
"""The time of one algorithm, as pictures and tables show it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AlgorithmTime:
    """One group of bars, in seconds; None where not known. `spread_s` is (fast, slow), say p10 and p99."""

    name: str
    measured_s: float | None = None
    predicted_s: float | None = None
    spread_s: tuple[float, float] | None = None
