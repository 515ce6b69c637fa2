"""How finely an all-reduce is cut that finds its late rank while it runs, schedule="all_reduce_late", and what that is
predicted to save."""

from __future__ import annotations

import math

from hemiola import _core
from hemiola._core import Schedule
from hemiola.port_speed import PortSpeed

#: Segments that the early ranks reduce one after another, at most: one of so many is what a late rank may wait for.
_MOST_SEGMENTS = 8
_MOST_CHUNKS_PER_OWNER = 4096
#: How near to the best time is good enough.
_NEAR = 1.02


def late_rule(
    rank_count: int, nbytes: int, speed: PortSpeed, plain: Schedule, plain_s: float | None = None
) -> _core.LateRule:
    """Choose segments and chunks for a buffer from latency α, bandwidth 1/β and size s.

    Parameters
    ----------
    rank_count : int >= 1.
    nbytes : int >= 0, bytes of the buffer.
    speed : PortSpeed.
    plain : Schedule of the all-reduce that runs where nothing was reduced when the last rank came.
    plain_s : float > 0, optional; how long that takes. With it the rule has a forecast, by which ranks decide
        themselves whether to look for a late one; it takes 3 ranks.

    Returns
    -------
    LateRule. M chunks take M + ceil(log2 n) - 1 rounds of α + sβ/M, least at M* = sqrt((ceil(log2 n) - 1)·sβ/α).
    Each of the n-1 early ranks owns equally many of them. The minimum is flat: among the counts within 2 % of it, as
    many segments are taken as there may be, since a rank that comes in the middle of one waits for its end, and no
    more chunks in each than needed, since a message has costs that the formula does not know.
    """
    early = max(rank_count - 1, 1)
    serial_s = nbytes / speed.bandwidth
    if speed.latency_s <= 0:
        return _core.LateRule(plain, segments=_MOST_SEGMENTS, chunks_per_owner=1)
    extra = max(math.ceil(math.log2(max(rank_count, 2))) - 1, 1)

    def finish_s(owned: int, reduced: float = 1) -> float:
        # What that share of the buffer takes, which the early ranks have reduced.
        return (owned * early * reduced + extra) * (speed.latency_s + serial_s / (owned * early))

    best = max(1, min(round(math.sqrt(extra * serial_s / speed.latency_s) / early), _MOST_CHUNKS_PER_OWNER))
    good = [
        owned
        for owned in range(1, max(best, _MOST_SEGMENTS) + 1)
        if finish_s(owned) <= _NEAR * finish_s(best)
    ]
    segments = min(_MOST_SEGMENTS, good[-1])
    owned = segments * math.ceil(good[0] / segments)
    forecast = None
    if plain_s is not None:
        ring_s = 2 * (rank_count - 1) * (speed.latency_s + serial_s / rank_count)
        reduced = [part / segments for part in range(1, segments + 1)]
        forecast = _core.LateForecast(
            plain_s=plain_s,
            segment_s=(early - 1) * (speed.latency_s + serial_s / (segments * early)),
            finish_s=[plain_s, *(finish_s(owned, part) + (1 - part) * ring_s for part in reduced)],
        )
    return _core.LateRule(plain, segments=segments, chunks_per_owner=owned // segments, forecast=forecast)
