"""Bringing this process together with the other ranks of its job, on one host or several."""

from __future__ import annotations

import importlib.metadata
import os
import sys
import time

from hemiola import environment
from hemiola._core import HostsSession, Listener, LocalSession, Session, leave_mpi
from hemiola.communicator.launch_environment import Job
from hemiola.communicator.rendezvous import rendezvous_of

#: What this process has joined.
_joined: list[HostsSession] = []


def leave_all() -> None:
    """Say farewell to the ranks of other hosts, and to MPI: this process ends, and not by accident."""
    for session in _joined:
        session.leave()
    # Whoever fails does not wait for the others to come to the end of MPI: its launcher ends them.
    leave_mpi(all_is_well=getattr(sys, "last_value", None) is None)


os.register_at_fork(after_in_child=_joined.clear)


def meets_at_address(job: Job) -> bool:
    """Return whether a job's ranks meet at an address: its launcher says that some are on other hosts, such an address
    was given, or a wire was asked for that needs addresses."""
    asks_for_tcp = "tcp" in environment.WIRE.value().split(",")
    return job.spans_hosts or environment.RENDEZVOUS.value() is not None or asks_for_tcp


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
        return LocalSession.join(job.rank, job.rank_count, job.name, timeout_s)
    if _joined:
        return _joined[0]  # which outlives its communicators, so that a second `init` needs no second meeting
    begin = time.monotonic()
    family = environment.IP_FAMILY.value()
    rule = environment.INTERFACE.value()
    reached = environment.reachable_addresses(rule, family)
    if not rule.excludes:  # what was not chosen by name may lead nowhere: others try it last
        reached = environment.nearest_first(reached, job.local_rank or 0)
    addresses = [str(local.address) for local in reached]
    rendezvous = rendezvous_of(job)
    ports = environment.PORTS.value() or range(0, 1)
    if job.rank == 0 and rendezvous.port:
        ports = range(rendezvous.port, rendezvous.port + 1)
    listener = Listener("0.0.0.0" if family == 4 else "", ports[0], ports[-1])
    own = [_with_port(address, listener.port) for address in addresses]
    meeting = rendezvous.meet(own, timeout_s)
    session = HostsSession.join(
        listener,
        rank=job.rank,
        rank_count=job.rank_count,
        name=meeting.name,
        incarnation=job.incarnation,
        token=meeting.token,
        version=importlib.metadata.version("hemiola"),
        addresses=addresses,
        rank_zero=list(meeting.rank_zero),
        timeout_s=max(0.0, timeout_s - (time.monotonic() - begin)),
        silence_s=environment.SILENCE.value(),
    )
    _joined.append(session)
    return session


def _with_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
