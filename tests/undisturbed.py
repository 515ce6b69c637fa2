"""Measurements that others on this machine may spoil: repeated where these provably had its cores, and only there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Found = TypeVar("Found")

#: While others had less than this share of the cores, what was measured counts.
LITTLE = 0.05
ATTEMPTS = 5


def undisturbed(measure: Callable[[], Found], is_right: Callable[[Found], object]) -> Found:
    """Return what is measured; measure again what is not right where other processes had the cores meanwhile."""
    for attempt in range(ATTEMPTS):
        before_s = _busy_s()
        found = measure()
        worked_s, ours_s, whole_s = (now - then for now, then in zip(_busy_s(), before_s, strict=True))
        if is_right(found) or worked_s - ours_s < LITTLE * whole_s:
            break
        print(f"attempt {attempt}: others had {worked_s - ours_s:.1f} of {whole_s:.1f} core seconds: {found}")
    return found


def _busy_s() -> tuple[float, float, float]:
    """Return for how many seconds all cores have worked, this process and those that it has waited for, and all cores
    worked or not."""
    ticks = list(map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]))
    idle = ticks[3] + ticks[4]  # and while it waits for a disk
    per_s = os.sysconf("SC_CLK_TCK")
    return (sum(ticks) - idle) / per_s, sum(os.times()[:4]), sum(ticks) / per_s
