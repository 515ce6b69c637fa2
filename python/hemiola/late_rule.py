"""How finely an all-reduce is cut that finds its late rank while it runs: schedule="all_reduce_late"."""

from __future__ import annotations

import math

from hemiola import _core
from hemiola._core import Schedule
from hemiola.port_speed import PortSpeed

#: Segments that the early ranks reduce one after another, at most: one of so many is what a late rank may wait for.
_MOST_SEGMENTS = 8
_MOST_CHUNKS_PER_OWNER = 4096


def late_rule(rank_count: int, nbytes: int, speed: PortSpeed, plain: Schedule) -> _core.LateRule:
    """Choose segments and chunks for a buffer from latency α, bandwidth 1/β and size s.

    Parameters
    ----------
    rank_count : int >= 1.
    nbytes : int >= 0, bytes of the buffer.
    speed : PortSpeed.
    plain : Schedule of the all-reduce that runs where nothing was reduced when the last rank came.

    Returns
    -------
    LateRule. M chunks take M + ceil(log2 n) - 1 rounds of α + sβ/M, least at M* = sqrt((ceil(log2 n) - 1)·sβ/α).
    Each of the n-1 early ranks owns M*/(n-1) of them, at least one, spread over up to 8 segments. A segment's
    blocks take the wire longer than α, or there are fewer segments.
    """
    early = max(rank_count - 1, 1)
    serial_s = nbytes / speed.bandwidth
    if speed.latency_s <= 0:
        return _core.LateRule(plain, segments=_MOST_SEGMENTS, chunks_per_owner=1)
    best = math.sqrt(max(math.ceil(math.log2(max(rank_count, 2))) - 1, 1) * serial_s / speed.latency_s)
    owned = max(1, round(best / early))
    segments = max(1, min(_MOST_SEGMENTS, owned, int(serial_s / early / speed.latency_s)))
    per_owner = min(max(1, round(owned / segments)), _MOST_CHUNKS_PER_OWNER)
    return _core.LateRule(plain, segments=segments, chunks_per_owner=per_owner)
