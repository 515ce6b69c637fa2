# SPDX-License-Identifier: Apache-2.0
"""How a process comes to a job that runs already."""

from __future__ import annotations

import time
from importlib import metadata

from hemiola import environment
from hemiola._core import Complaint, LocalSession
from hemiola.arguments import typed
from hemiola.communicator.arguments import seconds_of
from hemiola.communicator.communicator import Communicator
from hemiola.communicator.init import became_member
from hemiola.communicator.init_options import InitOptions
from hemiola.communicator.launch_environment import meeting_name
from hemiola.communicator.log import begin_logging
from hemiola.communicator.membership import descended, next_members
from hemiola.communicator.store_meeting import Store, job_at
from hemiola.errors import ArgumentError, LostRankError
from hemiola.machine.standard_descriptors import hold_standard_descriptors


@typed
def join(meet_at: Store | str | None = None, *, timeout_s: float | None = None) -> Communicator:
    """Come into a running job on this machine, and return once its ranks have let this process in.

    The job's ranks let newcomers in by `Communicator.grow`, which they call where `Communicator.is_called` is true.

    Parameters
    ----------
    meet_at : the store or the name at which the job's ranks met by `Communicator.join`. None: the job is one of
        hemiola.launch, and HEMIOLA_JOB names it.
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
        where no job is named, where a job lets nobody in, and where its ranks are on several hosts.
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
    limit_s = seconds_of(environment.TIMEOUT.value() if timeout_s is None else timeout_s)
    if isinstance(limit_s, Complaint):
        raise ArgumentError(limit_s.text)
    deadline = time.monotonic() + limit_s
    name = meet_at if isinstance(meet_at, str) else _name_of_job(meet_at, limit_s)
    session = LocalSession.enter(name, metadata.version("hemiola"), limit_s)
    options = InitOptions.invited(session.invitation)
    agreement, members = session.await_seat(max(0.0, deadline - time.monotonic()))
    ranks, lineage = tuple(members), descended(agreement, "next", members)
    while True:
        try:
            made = Communicator(session, ranks, options, lineage=lineage, is_job=True, is_next=True)
        except LostRankError:
            if len(session.living(ranks)) == len(ranks):
                raise
        else:
            became_member(made, options)
            return made
        agreed = next_members(session, ranks, lineage, options.timeout_s, leaves=False, admits=True)
        assert agreed is not None  # it does not leave
        ranks, lineage = agreed, descended(lineage, "next", agreed)


def _name_of_job(store: Store | None, limit_s: float) -> str:
    if store is not None:
        return job_at(store, limit_s)
    job = environment.JOB.value()
    if not job:
        raise ArgumentError(
            f"join: expected a store or a name where the job's ranks meet, or {environment.JOB.name} of a job of "
            f"hemiola.launch, found neither"
        )
    return meeting_name(job)
