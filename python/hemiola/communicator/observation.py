# SPDX-License-Identifier: Apache-2.0
"""Gathers the ranks' observations of a communicator's latest operations, and has one rank judge them for all."""

from __future__ import annotations

import pickle
import socket
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hemiola._core import Communicator as CoreCommunicator
from hemiola._core import Session, Topology
from hemiola.arguments.names import as_kind
from hemiola.communicator.fixed_work import fixed_work_s
from hemiola.communicator.nic_names import nic_name
from hemiola.communicator.processor_time import ProcessorTime
from hemiola.communicator.survey import surveyed
from hemiola.diagnosis import Diagnosis, Evidence, judge
from hemiola.diagnosis.evidence import Nic
from hemiola.diagnosis.network import paths_between, ways_of, without_relayed
from hemiola.diagnosis.ports import HEALTHY, SLOW, slow_ports
from hemiola.diagnosis.prospect import Step
from hemiola.machine.capacity import core_count
from hemiola.topology.host_ports import ports_between_hosts

#: How many of the latest operations are judged; those since the last diagnosis, where they are enough.
_OPERATIONS, _LEAST_OPERATIONS = 128, 8
#: A step is as long as the median of so many stretches of operations.
_STRETCHES = 8
#: The default operation to judge costs by, where nothing was run that can be planned.
_DEFAULT_STEP = ("all_reduce", 1 << 20)


@dataclass(frozen=True)
class Seen:
    """One rank's knowledge that the others lack; `ways`: by peer, the rates that messages to it and from it have
    reached."""

    host_name: str
    nic_name: str
    work_s: float
    waited_s: float
    ran_s: float
    ways: tuple[tuple[float, float], ...]
    arrivals: bytes


@dataclass(frozen=True)
class SurveyedPort:
    """A rank's port that a survey has found to be slow.

    `factor` : how much slower than the others'.
    `assumed` : the part of that factor which the planned-for network already has, as it was measured at start-up. The
        rest is noticed and planned for as any slow port is.
    `where` : its NIC and host in words.
    """

    factor: float
    assumed: float
    where: str


class Observer:
    """Looks at one communicator.

    Parameters
    ----------
    session, members : the communicator of these ranks.
    core : the communicator in the core.
    timeout_s : float, how long to wait for the others.
    """

    def __init__(
        self, session: Session, members: Sequence[int], core: CoreCommunicator, timeout_s: float
    ) -> None:
        self._session, self._members, self._core, self._timeout_s = session, list(members), core, timeout_s
        # Only the measurement at start-up has run so far.
        self._first_judged = self._core.health().operation_count
        self._since = ProcessorTime.now(), self._first_judged
        #: By rank, the latest survey's factors.
        self.surveyed: Mapping[int, SurveyedPort] = {}

    def diagnose(
        self,
        network: Topology,
        hosts: Sequence[int],
        grouping: Callable[[Sequence[int]], CoreCommunicator] | None,
        *,
        is_given: bool,
    ) -> Diagnosis:
        """Gather the evidence and judge it; all ranks call this. The first of them judges.

        Parameters
        ----------
        network : Topology that collectives are planned for when all is well.
        hosts : the host of each rank.
        grouping : makes a communicator of some of the ranks, by which those of several hosts survey the network; None
            where it is emulated.
        is_given : bool, whether the network gives the NICs' nominal rates; else it was measured, when they may have
            been slow.
        """
        # Before the first operation since the last diagnosis, that was everybody's own time.
        if self._core.health().operation_count > self._since[1] + _LEAST_OPERATIONS:
            self._first_judged = self._since[1] + 1
        seen = [pickle.loads(one) for one in self._exchange(pickle.dumps(self._seen()))]
        evidence = _evidence(seen, network, hosts)
        kind, nbytes = self._main_collective()
        step = Step(network, as_kind(kind), nbytes)
        if grouping is not None and len(evidence.hosts) > 1:
            names = tuple(_by_host(hosts, [one.host_name for one in seen]))
            evidence = replace(evidence, host_names=names, nics=_nics(seen, network, hosts))
            evidence = self._surveyed(evidence, network, grouping, is_given=is_given)
            step = replace(step, topology=network if is_given else levelled(network))
        self._since = ProcessorTime.now(), self._core.health().operation_count
        verdict = b""
        if self._core.rank == 0:
            verdict = _verdict(evidence, step)
        found = pickle.loads(self._exchange(verdict)[0])
        if isinstance(found, Exception):
            raise found
        assert isinstance(found, Diagnosis)
        return found

    def _surveyed(
        self,
        evidence: Evidence,
        network: Topology,
        grouping: Callable[[Sequence[int]], CoreCommunicator],
        *,
        is_given: bool,
    ) -> Evidence:
        """Survey the ways between NICs, beside the operations, so that nothing of it shows among them."""
        nics = evidence.nics
        ports = ports_between_hosts(network)
        known = np.array([ports.bandwidths[nic.ranks[0]] if ports is not None else 1.0 for nic in nics])
        expected = known if is_given else np.ones(len(nics))
        core = grouping(range(len(self._members)))
        try:
            leads, hosts = [nic.ranks[0] for nic in nics], [nic.host for nic in nics]
            speeds = surveyed(core, leads, hosts, expected, self._exchange, self._timeout_s)
        finally:
            core.close()
        evidence = replace(evidence, speeds=speeds, expected=expected)
        self._take_over(evidence, np.ones(len(nics)) if is_given else np.median(known) / known)
        noticed = {port.rank: port.measured_factor for port in self._core.health().slow}
        return replace(evidence, noticed=noticed)

    def _take_over(self, evidence: Evidence, assumed: NDArray[np.float64]) -> None:
        """Have `health` say what the survey says, and plan for what of it the network has not.

        Ports have certainly reached what the survey says. So who was slower than that has recovered, and where this
        leaves open by how much, operations tell.
        """
        health = self._core.health()
        is_watching, noticed = health.is_watching, {port.rank: port.measured_factor for port in health.slow}
        factors = slow_ports(evidence.nic_shares, 1.0).ports
        found, known = {}, {}
        for port, nic in enumerate(evidence.nics):
            factor = factors.get(port, 1.0)
            of_network = float(max(1.0, assumed[port]))
            if not is_watching or factor < HEALTHY * of_network:
                of_network = factor
            for rank in nic.ranks:
                if factor >= SLOW:
                    found[rank] = SurveyedPort(factor, of_network, evidence.nic_name(nic))
                    known[rank] = factor / of_network
                elif factor < max(HEALTHY, noticed.get(rank, 1.0)):
                    known[rank] = 1.0
        self.surveyed = found
        self._core.adopt_ports(known)

    def _exchange(self, own: bytes) -> list[bytes]:
        """Return everybody's bytes. By the session, so that nothing of it shows among the operations."""
        in_session = sorted(self._members)
        told = self._session.exchange(in_session, "diagnosis", own, self._timeout_s)
        return [told[in_session.index(member)] for member in self._members]

    def _own_arrivals(self) -> bytes:
        """Return when this rank came to the operations that are to be judged, and its own time before."""
        row_bytes = 2 * np.dtype(np.int64).itemsize
        rows: bytes = self._core.own_arrivals_ns()
        return rows[-max(1, self._latest_count()) * row_bytes :]

    def _latest_count(self) -> int:
        """Return how many of the latest operations are to be judged."""
        return min(_OPERATIONS, self._core.health().operation_count - self._first_judged)

    def _seen(self) -> Seen:
        """Return what this rank has seen since it looked last."""
        used = ProcessorTime.now() - self._since[0]
        steps = max(1, self._core.health().operation_count - self._since[1])
        return Seen(
            socket.gethostname(),
            nic_name(),
            fixed_work_s(),
            used.waited_s / steps,
            used.ran_s / steps,
            tuple(self._core.pair_shares()),
            self._own_arrivals(),
        )

    def _main_collective(self) -> tuple[str, int]:
        """Return the collective that has moved most bytes lately, as a plan wants it."""
        moved: Counter[tuple[str, int]] = Counter()
        operations = self._core.operations()
        for kind, nbytes in operations[len(operations) - min(len(operations), self._latest_count()) :]:
            if kind not in ("barrier", "custom"):
                moved[kind, nbytes] += nbytes
        (kind, nbytes), total = (moved.most_common(1) or [(_DEFAULT_STEP, 0)])[0]
        if total == 0:
            return _DEFAULT_STEP
        return kind, nbytes * len(self._members) if kind in ("all_gather", "gather") else nbytes


def _verdict(evidence: Evidence, step: Step) -> bytes:
    """Judge, and pickle what comes out, an error too: the others wait for it."""
    try:
        return pickle.dumps(judge(evidence, step))
    except Exception as error:
        return pickle.dumps(error)


def _evidence(
    seen: Sequence[Seen],
    network: Topology,
    hosts: Sequence[int],
) -> Evidence:
    """Put together what the ranks have seen."""
    came_ns, own_ns = _arrivals_ns(seen)
    share = _shares(seen)
    pairs = [(int(src), int(dst)) for src, dst in np.argwhere(np.isfinite(share))]
    way_of_pair = paths_between(network, pairs)
    share = without_relayed(network, share, way_of_pair)
    return Evidence(
        host_of=tuple(hosts),
        step_s=_step_s(came_ns),
        own_s=np.asarray(own_ns * 1e-9, np.float64),
        work_s=np.array([one.work_s for one in seen]),
        waited_s=np.array([one.waited_s for one in seen]),
        ran_s=np.array([one.ran_s for one in seen]),
        share=share,
        ways=ways_of(network, {pair: way_of_pair[pair] for pair in pairs if np.isfinite(share[pair])}),
        core_count=core_count(),
        vertex_names=tuple(network.names),
    )


def _by_host(hosts: Sequence[int], of_ranks: Sequence[str]) -> list[str]:
    """Return what the first rank of each host says; where two hosts say the same, with their numbers."""
    first = {host: of_ranks[rank] for rank, host in reversed(list(enumerate(hosts)))}
    names = [first.get(host, "") for host in range(max(hosts) + 1)]
    return [f"{name} (host {host})" if names.count(name) > 1 else name for host, name in enumerate(names)]


def _nics(seen: Sequence[Seen], network: Topology, hosts: Sequence[int]) -> tuple[Nic, ...]:
    """Return by what ranks reach other hosts: the NICs that the network has, or one a host."""
    ports = ports_between_hosts(network)
    sharing = ports.sharing if ports is not None else [hosts.index(host) for host in hosts]
    users: dict[int, list[int]] = {}
    for rank, first in enumerate(sharing):
        users.setdefault(first, []).append(rank)
    return tuple(Nic(seen[first].nic_name, hosts[first], tuple(ranks)) for first, ranks in users.items())


def levelled(network: Topology) -> Topology:
    """Return a network whose NICs are all as fast as its median one, as they are when all is well."""
    links = network.links.copy()
    of_nics = [link for _, _, nic in network.nics for link in nic]
    if not of_nics:
        return network
    links["bandwidth"][of_nics] = np.median(links["bandwidth"][of_nics])
    return network.replaced(links=links)


def _arrivals_ns(seen: Sequence[Seen]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return when ranks came, and their own time before, by operation; without the first one, which has none."""
    rows = [np.frombuffer(one.arrivals, np.int64).reshape(-1, 2) for one in seen]
    count = min(map(len, rows))
    latest = np.stack([of_rank[len(of_rank) - count :] for of_rank in rows], axis=1)
    came_ns, own_ns = np.moveaxis(latest[(latest[:, :, 1] >= 0).all(axis=1)], 2, 0)
    return came_ns, own_ns


def _shares(seen: Sequence[Seen]) -> NDArray[np.float64]:
    """Return by sender and receiver what their messages have reached; the end that did not wait saw more of it."""
    share = np.zeros((len(seen), len(seen)))
    for rank, one in enumerate(seen):
        for peer, (to, back) in enumerate(one.ways):
            share[rank, peer] = max(share[rank, peer], to)
            share[peer, rank] = max(share[peer, rank], back)
    return np.where(share > 0, share, np.nan)


def _step_s(came_ns: NDArray[np.int64]) -> float:
    """Return the seconds from one operation to the next, typically."""
    if len(came_ns) < 2:
        return 0.0
    between_s = np.diff(came_ns.max(axis=1)) * 1e-9
    return float(
        np.median([part.mean() for part in np.array_split(between_s, min(_STRETCHES, len(between_s)))])
    )
