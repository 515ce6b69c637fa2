# SPDX-License-Identifier: Apache-2.0
"""How a communicator's ranks come to the next one: without those that died or leave, and with newcomers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib import metadata
from typing import TYPE_CHECKING, Self

from hemiola._core import Communicator as CoreCommunicator
from hemiola._core import Complaint, LocalSession, Session
from hemiola.arguments import typed
from hemiola.communicator.arguments import seconds_of
from hemiola.communicator.init_options import InitOptions
from hemiola.communicator.open_communicators import is_open
from hemiola.errors import ArgumentError, LostRankError, MinorityError
from hemiola.planner.communicator_plans import CommunicatorPlans


class Membership:
    """The part of a communicator that makes the next one."""

    _session: Session
    _ranks: tuple[int, ...]
    _options: InitOptions
    _plans: CommunicatorPlans
    _core: CoreCommunicator
    #: Whether it is that of all ranks of the job, to which newcomers come.
    _is_job: bool
    #: The same on all ranks, and of no other communicator of this job: derived from all agreements before it.
    _lineage: str
    #: The communicator of the next members, once they have agreed.
    successor: Self | None = None
    _leaves = False
    _has_left = False

    if TYPE_CHECKING:

        def close(self) -> None: ...

        def _made_of(self, ranks: Sequence[int], lineage: str) -> Self: ...

    @property
    def is_called(self) -> bool:
        """Whether a newcomer waits, or a rank leaves, so that all are to call `grow`. The same on all ranks after the
        same operation; costs no communication."""
        return self._is_job and is_open(self) and bool(self._core.is_called)

    def leave(self) -> None:
        """Say that this rank leaves: after the next operation all ranks find `is_called` true, and `grow` returns None
        here.

        Any thread may say so. The rank works on until then, and nothing is lost.

        Raises
        ------
        ArgumentError
            of a group: only the communicator of all ranks of the job changes its members.
        """
        self._check_is_job("leave")
        self._leaves = True
        self._core.call()

    @typed
    def grow(self, timeout_s: float | None = None) -> Self | None:
        """Make the communicator of the next members: of those that live, without those that leave, with newcomers.

        All ranks call this after the same operation, such as one after which `is_called` is true, or after a
        LostRankError.

        Parameters
        ----------
        timeout_s : float, seconds > 0, optional; how long to wait for ranks that live and do not come. None means as
            long as an operation may take.

        Returns
        -------
        Communicator of the next members: those of before in their order, then newcomers. This one where nothing
        changes. None on a rank that leaves. This one is open until the next one stands, and closed then.

        Raises
        ------
        ArgumentError
            of a group: make groups again from the next communicator.
        TimeoutError
            naming ranks that live and have not called this. It may be called again.
        MinorityError
            a LostRankError, as of `shrink`.

        Notes
        -----
        Plans and measurements are inherited; newcomers are told. A newcomer that dies meanwhile is left out, and costs
        one more agreement.
        """
        self._check_is_job("grow")
        if self._has_left:
            return None
        return self.successor or self._next(timeout_s, admits=True)

    @typed
    def shrink(self, timeout_s: float | None = None) -> Self:
        """Close this communicator, and make one of those of its ranks that live; each of them calls this.

        Parameters
        ----------
        timeout_s : float, seconds > 0, optional; how long to wait for ranks that live and do not come. None means as
            long as an operation may take.

        Returns
        -------
        Communicator of the survivors, numbered in the old order. All that return have the same one; ranks that die
        while they agree on it are left out. The same one when called again; `hemiola.init()` returns it from now on, if
        this was the job's.

        Raises
        ------
        TimeoutError
            naming ranks that live and have not called this. It may be called again.
        MinorityError
            a LostRankError, where too few ranks can be reached to go on: the others may do so behind a network that is
            cut. Raised when time is over; at once where the others have given this rank up, as one that stood still.

        Notes
        -----
        A side goes on that has more than half of this communicator's ranks, or half with the lowest, or all but those
        whose end it has seen. Nobody is lost: the same ranks have a new communicator. Operations of this one that are
        under way elsewhere raise LostRankError there, so that all come here. Costs a few messages per rank and the
        start of a communicator. On several hosts ranks must have noticed the dead first: docs/how-to/several-hosts.md.
        """
        if self.successor is not None:
            return self.successor
        self.close()
        made = self._next(timeout_s, admits=False)
        assert made is not None  # nobody leaves by this way
        return made

    def _next(self, timeout_s: float | None, *, admits: bool) -> Self | None:
        """Agree on the next members, as often as one of them is lost before their communicator stands."""
        limit_s = self._options.timeout_s if timeout_s is None else seconds_of(timeout_s)
        if isinstance(limit_s, Complaint):
            raise ArgumentError(limit_s.text)
        ranks, lineage = self._ranks, self._lineage
        while True:
            agreed = next_members(self._session, ranks, lineage, limit_s, leaves=self._leaves, admits=admits)
            if agreed is None:
                self._has_left = True
                self.close()
                return None
            lineage = descended(lineage, "next", agreed)
            try:
                if admits and agreed == self._ranks and self._is_whole(lineage, limit_s):
                    self._lineage = lineage
                    return self
                made = self._made_of(agreed, lineage)
            except LostRankError:
                if len(self._session.living(agreed)) == len(agreed):
                    raise
                ranks = agreed  # one more has died: those that are left agree again
            else:
                self.successor = made
                self.close()
                return made

    def _is_whole(self, lineage: str, limit_s: float) -> bool:
        """Say whether no rank has given this communicator up; all of them ask."""
        own = b"\1" if is_open(self) and self._core.is_whole else b"\0"
        everybody = sorted(self._ranks)
        return all(word == b"\1" for word in self._session.exchange(everybody, lineage, own, limit_s))

    def _check_is_job(self, call: str) -> None:
        if not self._is_job:
            raise ArgumentError(
                f"{call}: expected the communicator of all ranks of the job, found a group; only the job's ranks come "
                f"and go, and groups are made again from its next communicator"
            )

    def _inherit_from_veterans(self, plans: CommunicatorPlans, measured: CommunicatorPlans | None) -> bool:
        """Take over the measurements of the communicator before, or have a rank tell them that has them; all ranks call
        this. False where nobody has any."""
        everybody, limit_s = sorted(self._ranks), self._options.timeout_s
        own = measured.words() if measured else b""
        past = self._session.exchange(everybody, "who has measurements", own[:1], limit_s)
        tellers = [rank for rank, word in zip(everybody, past, strict=True) if word]
        if not tellers:
            return False
        if len(tellers) == len(everybody):
            told = own
        else:
            said = own if tellers[0] == self._session.rank else b""
            told = self._session.exchange(everybody, "measurements", said, limit_s)[
                everybody.index(tellers[0])
            ]
        plans.take_words(told, measured)
        return True

    def _open_lobby(self) -> None:
        """Let newcomers come, as the first rank of the job."""
        if self._is_job and self._core.rank == 0 and isinstance(self._session, LocalSession):
            self._session.open_lobby(
                metadata.version("hemiola"), self._options.invitation(), self._options.why_nobody_may_come()
            )

    def _close_lobby(self) -> None:
        """Let nobody come any more, where nobody would let them in."""
        if self._is_job and self.successor is None and isinstance(self._session, LocalSession):
            self._session.close_lobby()


def next_members(
    session: Session, ranks: Sequence[int], lineage: str, limit_s: float, *, leaves: bool, admits: bool
) -> tuple[int, ...] | None:
    """Agree with the other ranks on the next members, in their order; None on a rank that leaves.

    Raises
    ------
    MinorityError
        where the others have gone on without this rank.
    """
    agreed = session.next_members(sorted(ranks), lineage, leaves=leaves, admits=admits, timeout_s=limit_s)
    place = {rank: number for number, rank in enumerate(ranks)}
    found = tuple(sorted(agreed, key=lambda rank: (place.get(rank, len(place)), rank)))
    if session.rank in agreed:
        return found
    if leaves:
        return None
    raise MinorityError(f"shrink: the others have gone on as {list(found)}, without this rank")


def descended(lineage: str, how: str, ranks: Sequence[int]) -> str:
    """Return the lineage of a communicator that was made of another one's ranks."""
    return hashlib.sha256(f"{lineage} {how} {list(ranks)}".encode()).hexdigest()
