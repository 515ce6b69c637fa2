"""When messages that leave zeros out are expected to pay: where a core encodes and decodes faster than a link carries
the plain bytes. Speeds are measured; nothing is swept."""

from __future__ import annotations

import math

from hemiola._core import Topology
from hemiola.codecs import Speeds
from hemiola.conditions import least_share
from hemiola.topology.port_speed import PortSpeed, port_speed

#: A codec must leave a third of the time that the plain bytes take: what was estimated is often off by a fifth.
MARGIN = 1.5
#: Of denser data no message gets shorter by the 3 % that decoding it is worth.
MOST_DENSITY = 0.97
#: The bytes of a collective must take so long that what ranks do to look for zeros does not show.
_LEAST_S = 500e-6
#: What direct rounds cost on dense data beyond prediction, between hosts over TCP (docs/results/sparse.md).
DIRECT_COSTS = 1.12
#: Those at which a schedule is compared with another, from dense to sparse.
DENSITIES = (0.9, 0.8, 0.7, 0.6, *(2.0**-k for k in range(1, 17)))
#: What looking for zeros may take of an operation's time.
_LOOK_SHARE = 0.002
_MOST_PAUSE = 64
#: A message takes at least so long between processes that have to be woken.
_LEAST_LATENCY_S = 50e-6
_ADDING = ("reduce", "reduce_scatter", "all_reduce")


def link_bandwidth(network: Topology) -> float:
    """Return the bytes per second that one rank may send between hosts; on one host, or where no hosts are told apart,
    what its port carries."""
    if network.node_count < 2:
        return port_speed(network).bandwidth
    ranks = [0] * network.node_count
    for node in network.nodes:
        ranks[node] += 1
    shares = (all_of / count for all_of, count in zip(network.host_bandwidths(), ranks, strict=True) if count)
    return min(shares)


def coded_below(kind: str, rank_count: int, nbytes: int, bandwidth: float, speeds: Speeds) -> float:
    """Return below which density a collective's messages should leave zeros out.

    Parameters
    ----------
    kind : str, the collective.
    rank_count : int >= 1.
    nbytes : int, of the whole buffer.
    bandwidth : float, bytes per second of a rank's link.
    speeds : Speeds of a core.

    Returns
    -------
    float in [0, 1), a share of elements that are not zero; 0 where the core would be what takes time, whatever the
    data.

    Notes
    -----
    A plain byte takes 1/B on a link. What it takes the core is 1/C + 1/A where messages are added (C compress, A add),
    and 1/C + 1/D where they are put in place (D decompress); in an all-gather, whose ranks encode one block and decode
    all others, 1/D + 1/((n-1)·C). Wire and core work at the same time, so the larger counts. Tried iff the core takes
    at most 2/3 of what the link does: then a wrong estimate loses nothing.
    """
    if rank_count == 1 or nbytes < _LEAST_S * bandwidth:
        return 0.0
    taken_s = core_s_per_byte(kind, rank_count, speeds)
    return MOST_DENSITY if MARGIN * taken_s <= 1 / bandwidth else 0.0


def core_s_per_byte(kind: str, rank_count: int, speeds: Speeds) -> float:
    """Return the seconds that a plain byte of a rank's messages takes its core, to encode and to decode; see
    `coded_below`."""
    encoders = max(1, rank_count - 1) if kind in ("all_gather", "broadcast") else 1
    decoding = speeds.add if kind in _ADDING else speeds.decompress
    return 1 / (encoders * speeds.compress) + 1 / decoding


def pause_of(rank_count: int, dense_s: float, latency_s: float) -> int:
    """Return before one operation in how many ranks should look for zeros, of which each takes `dense_s` dense: 1 where
    their exchange of what they see is next to nothing beside it, else up to 64."""
    exchange_s = 2 * math.ceil(math.log2(max(rank_count, 2))) * max(latency_s, _LEAST_LATENCY_S)
    return min(_MOST_PAUSE, max(1, math.ceil(exchange_s / (_LOOK_SHARE * max(dense_s, 1e-9)))))


def direct_below(kind: str, rank_count: int, relayed_s: float, direct_s: float, speed: PortSpeed) -> float:
    """Return below which density messages that hold what one rank has brought are faster than sums that fill up on
    their way.

    Parameters
    ----------
    kind : str, "reduce_scatter" or "all_reduce".
    rank_count : int >= 2.
    relayed_s, direct_s : float, what the two take on dense data.
    speed : PortSpeed, whose latency is what both take at least: n-1 messages.

    Returns
    -------
    float, one of 0.9, 0.8, 0.7, 0.6, 0.5, 0.25, 0.125 … 2^-16, or 0.

    Notes
    -----
    After k of n-1 hops a sum of independent contributions of density d has 1-(1-d)^k. The second half of an all-reduce
    is the same in both.
    """
    phases = 2 if kind == "all_reduce" else 1
    floor_s = phases * (rank_count - 1) * speed.latency_s

    def scaled(seconds: float, first: float, union: float) -> float:
        return floor_s + max(0.0, seconds - floor_s) * (first + (phases - 1) * union) / phases

    for density in DENSITIES:
        filled = [least_share(density, k) for k in range(1, rank_count + 1)]
        relayed = sum(filled[:-1]) / (rank_count - 1)
        if DIRECT_COSTS * scaled(direct_s, filled[0], filled[-1]) < scaled(relayed_s, relayed, filled[-1]):
            return density
    return 0.0
