# SPDX-License-Identifier: Apache-2.0
"""A door's row in the table of benchmarks/doors.py."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """One case, timed over Hemiola and over the package's own transport by turns: medians, in microseconds."""

    case: str
    ours_us: float
    theirs_us: float

    @property
    def ratio(self) -> float:
        """How many times as long Hemiola takes."""
        return self.ours_us / self.theirs_us


@dataclass(frozen=True)
class Row:
    """What was tried through one door.

    Parameters
    ----------
    door : str, such as "Ray".
    version : str, of the package.
    tried : programs, each of which was right or wrong.
    wrong : those of them that gave another result than they should, or failed.
    timings : cases beside the package's own transport.
    killed_ours, killed_theirs : a sentence each on what survivors of a killed rank said, and after how many seconds.
    """

    door: str
    version: str
    tried: Sequence[str]
    wrong: Sequence[str]
    timings: Sequence[Timing]
    killed_ours: str
    killed_theirs: str

    @property
    def right(self) -> int:
        """How many programs were right."""
        return len(self.tried) - len(self.wrong)


def begin(what: str) -> None:
    """Say what is tried now."""
    print(f"… {what}", file=sys.stderr, flush=True)
