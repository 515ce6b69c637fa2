# SPDX-License-Identifier: Apache-2.0
"""How a process comes to a job that runs already."""

from __future__ import annotations

import time
from importlib import metadata

from hemiola import environment
from hemiola._core import LocalSession, Session
from hemiola.arguments import typed
from hemiola.communicator.arguments import limit_of
from hemiola.communicator.communicator import Communicator
from hemiola.communicator.init import became_member
from hemiola.communicator.init_options import InitOptions
from hemiola.communicator.joining import Doorway
from hemiola.communicator.launch_environment import meeting_name
from hemiola.communicator.log import begin_logging
from hemiola.communicator.membership import Agreed, descended, next_members, standing_of
from hemiola.communicator.rendezvous import Meeting, known_token
from hemiola.communicator.store_meeting import Doorplate, Store, job_at
from hemiola.errors import ArgumentError
from hemiola.machine.standard_descriptors import hold_standard_descriptors


@typed
def join(meet_at: Store | str | None = None, *, timeout_s: float | None = None) -> Communicator:
    """Come into a running job, and return once its ranks have let this process in.

    The job's ranks let newcomers in by `Communicator.grow`, which they call where `Communicator.is_called` is true.

    Parameters
    ----------
    meet_at : the store or the name at which the job's ranks met by `Communicator.join`. None: the job is one of
        hemiola.launch. HEMIOLA_JOB names it, on several hosts with HEMIOLA_RENDEZVOUS and HEMIOLA_TOKEN.
    timeout_s : float, seconds > 0; None means HEMIOLA_TIMEOUT, or 300. How long to wait to be let in.

    Returns
    -------
    Communicator of the job's ranks, this one among the last of them, with the job's options. `hemiola.init()` returns
    it from now on.

    Raises
    ------
    MismatchError
        where the job runs another version of Hemiola.
    ArgumentError
        where no job is named, where a job lets nobody in, where it has another token, and where this process cannot
        reach one of its ranks.
    TimeoutError
        where no such job runs, or its ranks do not call `grow`.
    LostRankError
        where the job is over.

    Notes
    -----
    The process is ready before it asks, so nobody waits for its start. It may die at any time; that costs the job one
    more agreement.
    """
    environment.check()
    hold_standard_descriptors()
    begin_logging(environment.LOG.value())
    limit_s = limit_of(timeout_s, environment.TIMEOUT.value())
    deadline = time.monotonic() + limit_s

    def where() -> Meeting:
        if isinstance(meet_at, str):
            return Meeting((), b"", meet_at)
        return _launched_job() if meet_at is None else job_at(meet_at, _left_s(deadline))

    place = where()
    session: Session
    if place.rank_zero:
        doorway = Doorway.open()
        visitor = doorway.knock(where, _left_s(deadline))
        options = InitOptions.invited(visitor.invitation)
        session, agreement, members = visitor.await_seat(_left_s(deadline))
    else:
        session = LocalSession.enter(place.name, metadata.version("hemiola"), limit_s)
        options = InitOptions.invited(session.invitation)
        agreement, members = session.await_seat(_left_s(deadline))
    doorplate = None
    if meet_at is not None and not isinstance(meet_at, str):
        doorplate = Doorplate(meet_at, place, doorway.endpoints if place.rank_zero else ())
    ranks = tuple(members)

    def make(upon: Agreed) -> Communicator:
        return Communicator(
            session, upon.ranks, options, lineage=upon.lineage, is_job=True, doorplate=doorplate
        )

    def agree(upon: Agreed) -> Agreed | None:
        return next_members(session, upon, options.timeout_s, leaves=False, admits=True)

    made = standing_of(session, Agreed(ranks, descended(agreement, "next", ranks)), make, agree)
    assert made is not None  # it does not leave
    became_member(made, options)
    return made


def _left_s(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())


def _launched_job() -> Meeting:
    job, address = environment.JOB.value(), environment.RENDEZVOUS.value()
    if address is not None:
        return Meeting((str(address),), known_token(), f"hemiola-{job}" if job else str(address))
    if not job:
        raise ArgumentError(
            f"join: expected a store or a name where the job's ranks meet, or {environment.JOB.name} or "
            f"{environment.RENDEZVOUS.name} of a job of hemiola.launch, found none"
        )
    return Meeting((), b"", meeting_name(job))
