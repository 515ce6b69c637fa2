# SPDX-License-Identifier: Apache-2.0
"""A communicator's rule for an all-reduce that finds its late rank while it runs: how finely to cut it, and the
predicted gain."""

from __future__ import annotations

from collections.abc import Sequence

from hemiola._core import LateForecast, LateRule, Schedule
from hemiola._core.algorithms import late_cut
from hemiola.topology.port_speed import PortSpeed

#: What relays over TCP cost an all-reduce's finish beside its formula, measured on 8 hosts of 200 Mbit/s: 0.679 of the
#: ring's time, where messages without relays took 0.619, at equal formulas (docs/decisions/0006).
_RELAYS_OVER_TCP = 1.1


def late_rule(
    rank_count: int,
    nbytes: int,
    speed: PortSpeed,
    plain: Schedule,
    plain_s: float | None = None,
    hosts: Sequence[int] = (),
    *,
    over_tcp: bool = False,
) -> LateRule:
    """Choose segments and chunks for a buffer from latency α, bandwidth 1/β and size s.

    Parameters
    ----------
    rank_count : int >= 1.
    nbytes : int >= 0, bytes of the buffer.
    speed : PortSpeed.
    plain : Schedule of the all-reduce that runs where nothing was reduced when the last rank came.
    plain_s : float > 0, optional; how long that takes. With it the rule has a forecast, by which ranks decide
        themselves whether to look for a late one; it takes 3 ranks.
    hosts : sequence of int, the host of each rank, 0 … count-1, of 3 hosts or more with equally many ranks, where
        `speed` is that of a host's ranks together; empty where each rank has a port of that speed.
    over_tcp : bool, whether ranks are on different hosts. There messages of a round take different times, and a finish
        that depends on no relays is faster than its formula says beside the one of fewest rounds.

    Returns
    -------
    LateRule. M chunks take M + ceil(log2 n) - 1 rounds of α + sβ/M, least at M* = sqrt((ceil(log2 n) - 1)·sβ/α).
    Each of the n-1 early ranks owns equally many of them. The minimum is flat: among the counts within 2 % of it, as
    many segments are taken as there may be, since a rank that comes in the middle of one waits for its end, and no
    more chunks in each than needed, since a message has costs that the formula does not know. Hosts count as ranks do:
    transfers inside them take no time beside those of their NICs.
    """
    ports = len(set(hosts)) or rank_count
    cut, finish = late_cut(ports, nbytes, speed.latency_s, speed.bandwidth, finish="doubling"), "doubling"
    if over_tcp:
        direct = late_cut(ports, nbytes, speed.latency_s, speed.bandwidth, finish="direct")
        if direct.finish_s[-1] <= _RELAYS_OVER_TCP * cut.finish_s[-1]:
            cut, finish = direct, "direct"
    forecast = None
    if plain_s is not None:
        forecast = LateForecast(plain_s=plain_s, segment_s=cut.segment_s, finish_s=[plain_s, *cut.finish_s])
    return LateRule(
        plain,
        segments=cut.segments,
        chunks_per_owner=cut.chunks_per_owner,
        forecast=forecast,
        node_of_rank=list(hosts),
        finish=finish,
    )
