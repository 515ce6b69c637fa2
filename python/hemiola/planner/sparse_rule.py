# SPDX-License-Identifier: Apache-2.0
"""When messages that leave zeros out are expected to pay: where a core encodes and decodes faster than a link carries
the plain bytes. Speeds are measured; nothing is swept."""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

from hemiola._core import Topology
from hemiola.arguments.names import Kind
from hemiola.codecs import Speeds
from hemiola.conditions import least_share
from hemiola.topology.host_ports import ports_between_hosts
from hemiola.topology.port_speed import PortSpeed, port_speed

#: A codec must leave a third of the plain bytes' time: estimates are often off by a fifth.
MARGIN = 1.5
#: Of denser data no message gets shorter by the 3 % that decoding it is worth.
MOST_DENSITY = 0.97
#: Leaving zeros out is worth a thirtieth at least; the ranks' probe for zeros must take less than that.
_WORTH = 1 - MOST_DENSITY
#: Of shorter operations messages' fixed costs decide, which no speed of a codec tells.
_LEAST_S = 150e-6
#: Bytes of a chunk that are encoded before the first of them goes, and decoded after the last has come.
_SLICE_BYTES = 1 << 20
#: The cost of direct rounds on dense data beyond prediction, between hosts over TCP (docs/results/sparse.md).
DIRECT_COSTS = 1.12
#: Those at which a schedule is compared with another, from dense to sparse.
DENSITIES = (0.9, 0.8, 0.7, 0.6, *(2.0**-k for k in range(1, 17)))
#: The share of an operation's time that a probe for zeros may take.
_LOOK_SHARE = 0.002
_MOST_PAUSE = 64
#: A message takes at least so long between processes that have to be woken.
_LEAST_LATENCY_S = 50e-6
_ADDING = ("reduce", "reduce_scatter", "all_reduce")


def link_bandwidth(network: Topology) -> float:
    """Return the bytes per second that one rank may send between hosts; on one host, or where hosts are unknown, its
    port's bandwidth."""
    if network.node_count < 2:
        return port_speed(network).bandwidth
    if (ports := ports_between_hosts(network)) is not None:
        users = Counter(ports.sharing)
        return min(
            bandwidth / users[first] for bandwidth, first in zip(ports.bandwidths, ports.sharing, strict=True)
        )
    ranks = [0] * network.node_count
    for node in network.nodes:
        ranks[node] += 1
    shares = (all_of / count for all_of, count in zip(network.host_bandwidths(), ranks, strict=True) if count)
    return min(shares)


def coded_below(kind: Kind, rank_count: int, nbytes: int, bandwidth: float, speeds: Speeds) -> float:
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
    float in [0, 1), a share of elements that are not zero; 0 where the core would be the bottleneck, whatever the data.

    Notes
    -----
    A plain byte takes 1/B on a link. The core takes 1/C + 1/A a byte where messages are added (C compress, A add), and
    1/C + 1/D where they are put in place (D decompress). In an all-gather, whose ranks encode one block and decode all
    others, it takes 1/D + 1/((n-1)·C). Wire and core work at the same time, so the larger counts. Tried iff the core
    takes at most 2/3 of the link's time: then a wrong estimate loses nothing. One slice of 1 MiB at most is encoded
    before anything goes, and decoded when all has come: so much more must be saved.
    """
    if rank_count == 1 or nbytes < least_s(rank_count) * bandwidth:
        return 0.0
    taken_s = core_s_per_byte(kind, rank_count, speeds)
    if MARGIN * taken_s > 1 / bandwidth:
        return 0.0
    return MOST_DENSITY - taken_s * bandwidth * exposed_share(rank_count, nbytes)


def least_s(rank_count: int) -> float:
    """Return the least time of a collective's bytes for which a density probe before one in 64 does not show."""
    return max(_LEAST_S, _exchange_s(rank_count, 0.0) / (_MOST_PAUSE * _WORTH))


def exposed_share(rank_count: int, nbytes: int) -> float:
    """Return which share of a collective's bytes cores encode and decode while no link is busy: one slice of it."""
    return min(_SLICE_BYTES, nbytes / rank_count) / nbytes


def core_s_per_byte(kind: Kind, rank_count: int, speeds: Speeds) -> float:
    """Return the seconds that a plain byte of a rank's messages takes its core, to encode and to decode; see
    `coded_below`."""
    decoding = speeds.add if kind in _ADDING else speeds.decompress
    return 1 / (_receivers(kind, rank_count) * speeds.compress) + 1 / decoding


def _receivers(kind: Kind, rank_count: int) -> int:
    """Return how many ranks decode what one has encoded."""
    return max(1, rank_count - 1) if kind in ("all_gather", "broadcast") else 1


class MessageCosts(NamedTuple):
    """The time of messages, in seconds; a rank chooses their formats by it.

    Attributes
    ----------
    byte_s : float, a link, for a byte of a message.
    plain_byte_s : float, cores, for a plain byte where places are told by a bitmap.
    position_s : float, cores, for a place that is told by a number beside it.
    """

    byte_s: float
    plain_byte_s: float
    position_s: float


#: Only a link takes time: the smallest format is the fastest.
SMALLEST = MessageCosts(1, 0, 0)


def message_costs(
    kind: Kind, rank_count: int, bandwidth: float, speeds: Speeds
) -> tuple[MessageCosts, MessageCosts]:
    """Return the costs of a collective's messages that are copied, and of those that are added; see `coded_below`."""

    def of(phase: Kind) -> MessageCosts:
        position_s = speeds.position_compress_s / _receivers(phase, rank_count) + speeds.position_decompress_s
        return MessageCosts(1 / bandwidth, core_s_per_byte(phase, rank_count, speeds), position_s)

    return of("all_gather" if kind == "all_reduce" else kind), of("reduce_scatter")


def pause_of(rank_count: int, dense_s: float, latency_s: float) -> int:
    """Return one in how many operations ranks should probe for zeros first, where each takes `dense_s` dense. It is 1
    where the probe's exchange costs next to nothing beside it, else up to 64."""
    exchange_s = _exchange_s(rank_count, latency_s)
    return min(_MOST_PAUSE, max(1, math.ceil(exchange_s / (_LOOK_SHARE * max(dense_s, 1e-9)))))


def _exchange_s(rank_count: int, latency_s: float) -> float:
    return 2 * math.ceil(math.log2(max(rank_count, 2))) * max(latency_s, _LEAST_LATENCY_S)


def direct_below(kind: Kind, rank_count: int, relayed_s: float, direct_s: float, speed: PortSpeed) -> float:
    """Return the density below which messages of one rank's own values are faster than sums that fill up on their way.

    Parameters
    ----------
    kind : str, "reduce_scatter" or "all_reduce".
    rank_count : int >= 2.
    relayed_s, direct_s : float, the time of the two on dense data.
    speed : PortSpeed, with the latency that both take at least: n-1 messages.

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
