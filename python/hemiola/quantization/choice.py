# SPDX-License-Identifier: Apache-2.0
"""Whether an all-reduce goes as eight bits, by which schedule, and on which links: where the network's plain time is
longer than codec and short messages, and where calls of both forms have shown it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from hemiola._core import EightBitMessages, Schedule, Topology
from hemiola._core import codecs as core
from hemiola._core.algorithms import all_reduce_blueconnect
from hemiola.algorithms import all_reduce_direct_rounds
from hemiola.communicator import Communicator
from hemiola.errors import ArgumentError
from hemiola.planner.sparse_rule import MARGIN, least_s, link_bandwidth
from hemiola.quantization.race import Least, Race, Times
from hemiola.topology.port_speed import port_speed

#: Bytes of a message for each plain byte: a block of 256 elements and its scale.
SHARE = 260 / 1024

#: By communicator and size: eight bits with their race against plain messages; None where these are always faster.
_known: WeakKeyDictionary[Communicator, dict[int, tuple[Way, Race] | None]] = WeakKeyDictionary()


class Way(NamedTuple):
    """How calls of one size go as eight bits.

    Attributes
    ----------
    schedule : Schedule in which a sum is rounded once on its way to its owner, and once on the way from there.
    rounds_to : by rank, whether this rank's sums to it are rounded.
    """

    schedule: Schedule
    rounds_to: list[bool]

    def messages(self, residual: Any) -> EightBitMessages:
        """Return an all-reduce's `sparse`, by which it adds the residual and leaves its errors there."""
        return EightBitMessages(residual, self.rounds_to)


class Choice(NamedTuple):
    """How one call goes.

    Attributes
    ----------
    way : Way of eight bits; None for plain messages.
    note : function that takes a function, which tells when the call began and ended once it is over.
    """

    way: Way | None
    note: Callable[[Times], object]


def next_choice(comm: Communicator, size: int, least: Least) -> Choice:
    """Return how the next call of `size` float32 elements goes. All ranks ask together, and get the same form.

    The first rank compares the schedules once for each size. Where eight bits may be faster, timed calls decide.
    """
    known = _known.setdefault(comm, {})
    if size not in known:
        pays = np.full(1, np.inf)
        if comm.rank == 0:
            pays[0] = _pays(comm, 4 * size)
        if comm.rank_count > 1:
            least(pays)
        known[size] = (Way(_schedule(comm.topology), _rounds_to(comm)), Race()) if pays[0] else None
    if (found := known[size]) is None:
        return Choice(None, _forget)
    way, race = found
    return Choice(way if race.next(least) else None, race.note)


def _forget(_: Times) -> None:
    """Take the times of a call that no race needs."""


def _schedule(network: Topology) -> Schedule:
    """Return a schedule that rounds once in each direction: direct, and inside hosts first where these are alike."""
    hosts = _ranks_of_hosts(network)
    per_host = len(hosts[0])
    if not 1 < per_host < network.rank_count or any(len(ranks) != per_host for ranks in hosts):
        return all_reduce_direct_rounds(network.rank_count)
    grid = all_reduce_blueconnect(
        [per_host, len(hosts)], ["switch"] * 2, latency_s=1.0, bandwidth=1.0, nbytes=0
    )
    return grid.relabel(ranks=[rank for ranks in hosts for rank in ranks])


def _ranks_of_hosts(network: Topology) -> list[list[int]]:
    hosts: list[list[int]] = [[] for _ in range(network.node_count)]
    for rank, host in enumerate(network.nodes.tolist()):
        hosts[host].append(rank)
    return [ranks for ranks in hosts if ranks]


def _pays(comm: Communicator, nbytes: int) -> bool:
    """Say whether links and a core, one after the other, leave a third of the plain plan's time."""
    plans = comm._plans
    if comm.rank_count == 1 or plans.shares_memory:
        return False
    plain_s = comm.plan("all_reduce", nbytes).seconds
    if plain_s < least_s(comm.rank_count) or not any(rounds_to := _rounds_to(comm)):
        return False
    inside = max(0, rounds_to.count(False) - 1)  # other ranks of the host
    inside_bytes = (1 - SHARE) * inside / (inside + 1) * nbytes
    coded_s = plans.seconds_of(_schedule(comm.topology), round(SHARE * nbytes))
    links_s = coded_s + inside_bytes / _inside_Bps(comm.topology, 0)
    return bool(MARGIN * (links_s + nbytes * sum(_speeds())) < plain_s)


def _rounds_to(comm: Communicator) -> list[bool]:
    """Say to which ranks a core rounds and adds a sum in less time than the link needs for the bytes that it saves."""
    network, own = comm.topology, comm.rank
    quantize_s, add_s, _ = _speeds()

    def pays(bandwidth: float) -> bool:
        return MARGIN * (quantize_s + add_s) < (1 - SHARE) / bandwidth

    outside = pays(link_bandwidth(network))
    inside = outside and pays(_inside_Bps(network, own))
    hosts = network.nodes
    return [inside if hosts[rank] == hosts[own] else outside for rank in range(comm.rank_count)]


def _inside_Bps(network: Topology, rank: int) -> float:
    """Return the bytes per second of a rank's port to others of its host; where only other hosts join these, to all."""
    ranks = np.flatnonzero(network.nodes == network.nodes[rank]).tolist()
    try:
        return port_speed(network.of_ranks(ranks)).bandwidth
    except ArgumentError:
        return port_speed(network).bandwidth


@functools.cache
def _speeds() -> tuple[float, float, float]:
    """Measure the seconds for which a core quantizes, adds and restores a plain byte."""
    quantized, restored, added = core.eight_bit_speeds()
    return 1 / quantized, 1 / added, 1 / restored
