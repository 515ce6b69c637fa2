# SPDX-License-Identifier: Apache-2.0
"""Bringing this process together with the other ranks of its job, on one host or several."""

from __future__ import annotations

import logging
import math
import os
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hemiola import environment
from hemiola._core import (
    HostsIdentity,
    HostsSession,
    HostsVisitor,
    Listener,
    LocalSession,
    Session,
    leave_mpi,
)
from hemiola.communicator.launch_environment import Job
from hemiola.communicator.rendezvous import Meeting, rendezvous_of
from hemiola.errors import TimeoutError
from hemiola.side_channel import log

#: How often a host's name is asked for that is not known yet.
_BETWEEN_QUESTIONS_S = 0.2

#: How long a newcomer knocks at one place before it looks where the job is now.
_BETWEEN_LOOKS_S = 1.0

#: How long MPI's end is waited for before it is told.
_QUIET_END_S = 60.0

#: The jobs that this process has joined.
_joined: list[HostsSession] = []


def leave_all(sessions: Sequence[Session]) -> None:
    """Say farewell to the ranks of other hosts, and to MPI: this process ends, and not by accident.

    Parameters
    ----------
    sessions : sequence of Session, of communicators that were open until now.
    """
    # A failing rank does not wait for the others to come to the end of MPI: its launcher ends them. Nor who knows of
    # one that will not come there.
    every = (*sessions, *_joined)
    is_complete = not any(session.misses_somebody for session in every)
    all_is_well = is_complete and getattr(sys, "last_value", None) is None
    for session in every:
        if isinstance(session, HostsSession):
            session.leave()
    try:
        leave_mpi(all_is_well=all_is_well, timeout_s=_QUIET_END_S)
    except TimeoutError as error:
        # Other ranks may be at work for hours; a launcher ends them when this process does not wait.
        log(logging.WARNING, "%s; waiting for them until Ctrl-C", error)
        leave_mpi(all_is_well=all_is_well, timeout_s=math.inf)


os.register_at_fork(after_in_child=_joined.clear)


def meets_at_address(job: Job) -> bool:
    """Return whether a job's ranks meet at an address: its launcher says that some are on other hosts, such an address
    was given, or a wire was asked for that needs addresses."""
    return job.spans_hosts or environment.RENDEZVOUS.value() is not None or environment.needs_addresses()


def join(job: Job, timeout_s: float) -> Session:
    """Wait for all other ranks.

    Parameters
    ----------
    job : Job, this process's place.
    timeout_s : float, seconds.

    Raises
    ------
    ArgumentError
        where ranks of several hosts have no way to find each other, or no address at which others reach them.
    TimeoutError, LostRankError
        naming the ranks that did not come.
    """
    if not meets_at_address(job):
        return LocalSession.join(job.rank, job.rank_count, job.meeting_name, timeout_s)
    if _joined:
        return _joined[0]  # which outlives its communicators, so that a second `init` needs no second meeting
    begin = time.monotonic()
    rendezvous = rendezvous_of(job)
    doorway = Doorway.open(rendezvous.port if job.rank == 0 else 0, job.local_rank or 0)
    meeting = rendezvous.meet(doorway.endpoints, timeout_s)
    left_s = max(0.0, timeout_s - (time.monotonic() - begin))
    session = doorway.join(job.rank, job.rank_count, meeting, left_s, incarnation=job.incarnation)
    _joined.append(session)
    return session


@dataclass(frozen=True)
class Doorway:
    """Where this process is found by ranks of other hosts: a listening socket, and addresses that lead there; the same
    by NICs that are to be used side by side, with their speeds."""

    listener: Listener
    addresses: Sequence[str]
    nics: Sequence[tuple[int, Sequence[str]]] = ()

    @classmethod
    def open(cls, port: int = 0, local_rank: int = 0) -> Doorway:
        """Listen.

        Parameters
        ----------
        port : int; 0 means any that HEMIOLA_PORTS permits.
        local_rank : int, which of this host's ranks this process is: they take several NICs in turn.

        Raises
        ------
        ArgumentError
            where this process has no address at which others reach it.
        """
        family = environment.IP_FAMILY.value()
        rule = environment.INTERFACE.value()
        reached = environment.reachable_addresses(rule, family)
        nics = [] if rule.excludes else environment.side_by_side(reached)
        if not rule.excludes:  # an address that was not chosen by name may lead nowhere: others try it last
            reached = environment.nearest_first(reached, local_rank)
        ports = range(port, port + 1) if port else environment.PORTS.value() or range(0, 1)
        listener = Listener("0.0.0.0" if family == 4 else "", ports[0], ports[-1])
        return cls(listener, [str(local.address) for local in reached], nics)

    @property
    def endpoints(self) -> list[str]:
        """The addresses with the port."""
        return [_with_port(address, self.listener.port) for address in self.addresses]

    def join(
        self, rank: int, rank_count: int, meeting: Meeting, timeout_s: float, *, incarnation: int = 0
    ) -> HostsSession:
        """Wait for all other ranks."""
        deadline = time.monotonic() + timeout_s
        self._find(meeting, timeout_s)
        session = HostsSession.join(
            self.listener,
            rank=rank,
            rank_count=rank_count,
            identity=self._identity(meeting, incarnation),
            rank_zero=list(meeting.rank_zero),
            timeout_s=max(0.0, deadline - time.monotonic()),
        )
        for remark in session.remarks:
            log(logging.WARNING, "%s", remark)
        return session

    def knock(self, where: Callable[[], Meeting], timeout_s: float, *, incarnation: int = 0) -> HostsVisitor:
        """Ask the members of a running job to be let in; the first of them is found at `where().rank_zero`, or will be:
        another one may be the first by now, and about to say so."""
        deadline = time.monotonic() + timeout_s
        while True:
            meeting = where()
            left_s = max(0.0, deadline - time.monotonic())
            self._find(meeting, left_s)
            own, places = self._identity(meeting, incarnation), list(meeting.rank_zero)
            try:
                return HostsVisitor(self.listener, own, places, min(left_s, _BETWEEN_LOOKS_S), left_s)
            except TimeoutError:
                if time.monotonic() >= deadline:
                    raise

    def _find(self, meeting: Meeting, timeout_s: float) -> None:
        for place in meeting.rank_zero:
            wait_until_known(place, timeout_s)
        environment.check_loopback([_host_of(place) for place in meeting.rank_zero])

    def _identity(self, meeting: Meeting, incarnation: int) -> HostsIdentity:
        from importlib import metadata  # every rank imports this module, and those of one host do not ask

        return HostsIdentity(
            name=meeting.name,
            incarnation=incarnation,
            token=meeting.token,
            version=metadata.version("hemiola"),
            addresses=list(self.addresses),
            nics=[(speed, list(addresses)) for speed, addresses in self.nics],
            silence_s=environment.SILENCE.value(),
            tls=environment.TLS.value(),
        )


def wait_until_known(place: str, timeout_s: float) -> None:
    """Ask the name service for the host of "host:port" until it is known, as a pod's name is once the pod runs.

    Where it stays unknown, the connection that uses it raises the error.
    """
    host = _host_of(place)
    deadline = time.monotonic() + timeout_s
    has_told = False
    while True:
        try:
            socket.getaddrinfo(host, None)
            return
        except (socket.gaierror, UnicodeError) as error:
            if time.monotonic() + _BETWEEN_QUESTIONS_S >= deadline or isinstance(error, UnicodeError):
                return
            if not has_told:
                log(logging.WARNING, "waiting for the host of '%s' to be known here: %s", place, error)
            has_told = True
            time.sleep(_BETWEEN_QUESTIONS_S)


def _host_of(place: str) -> str:
    return place.rpartition(":")[0].strip("[]")


def _with_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
