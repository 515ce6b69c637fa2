# SPDX-License-Identifier: Apache-2.0
"""How a communicator's ranks come to the next one: without those that died or leave, and with newcomers."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import metadata
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar

from hemiola import environment
from hemiola._core import Communicator as CoreCommunicator
from hemiola._core import Session
from hemiola.arguments import typed
from hemiola.communicator.arguments import limit_of
from hemiola.communicator.epochs import Epoch, History, Past, told_history
from hemiola.communicator.init_options import InitOptions
from hemiola.communicator.log import log_epoch
from hemiola.communicator.open_communicators import is_open
from hemiola.communicator.status import status_text
from hemiola.communicator.store_meeting import Doorplate
from hemiola.errors import ArgumentError, LostRankError, MinorityError
from hemiola.planner.communicator_plans import CommunicatorPlans

#: The lineage of a communicator of all ranks that founded the job.
FOUNDED = "job"

_Made = TypeVar("_Made")


class Membership:
    """The part of a communicator that makes the next one."""

    _session: Session
    _ranks: tuple[int, ...]
    _options: InitOptions
    _plans: CommunicatorPlans
    _core: CoreCommunicator
    #: Whether it is that of all ranks of the job, to which newcomers come.
    _is_job: bool
    _history: History
    #: The same on all ranks, and of no other communicator of this job: derived from all agreements before it.
    _lineage: str
    #: Where newcomers find the job; None where they have its name or address.
    _doorplate: Doorplate | None
    #: The communicator of the next members, once they have agreed.
    successor: Self | None = None
    _leaves = False
    _has_left = False

    if TYPE_CHECKING:

        def close(self) -> None: ...

        def _made_of(self, ranks: Sequence[int], lineage: str, past: Past) -> Self: ...

    @property
    def is_called(self) -> bool:
        """Whether a newcomer waits, or a rank leaves, so that all are to call `grow`. The same on all ranks after the
        same operation; costs no communication."""
        return self._is_job and is_open(self) and bool(self._core.is_called)

    def leave(self) -> None:
        """Say that this rank leaves: after the next operation all ranks find `is_called` true, and `grow` returns None
        here.

        Any thread may say so. The rank works on until then, and nothing is lost. Said too late for a `grow` that is
        under way, it holds for the next communicator.

        Raises
        ------
        ArgumentError
            of a group: only the communicator of all ranks of the job changes its members.
        """
        self._check_is_job("leave")
        self._leaves = True  # first: who sets the successor looks at this afterwards
        if self.successor is not None:
            self.successor.leave()
        else:
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
        limit_s = limit_of(timeout_s, self._options.timeout_s)
        return self.successor or self._next(Past(self._history, time.monotonic()), limit_s, grows=True)

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
        limit_s = limit_of(timeout_s, self._options.timeout_s)
        past = Past(self._history, time.monotonic())
        self.close()
        made = self._next(past, limit_s, grows=False)
        assert made is not None  # nobody leaves by this way
        return made

    def _next(self, past: Past, limit_s: float, *, grows: bool) -> Self | None:
        """Agree on the next members, and make their communicator; None on a rank that leaves."""
        agree = partial(self._agree, limit_s=limit_s, grows=grows)
        make = partial(self._standing, past=past, limit_s=limit_s, grows=grows)
        made = standing_of(self._session, agree(Agreed(self._ranks, self._lineage)), make, agree)
        if made is self:
            return made
        self._has_left, self.successor = made is None, made
        if made is not None and self._leaves:
            made.leave()
        self.close()
        return made

    def _agree(self, upon: Agreed, *, limit_s: float, grows: bool) -> Agreed | None:
        return next_members(self._session, upon, limit_s, leaves=grows and self._leaves, admits=grows)

    def _standing(self, agreed: Agreed, *, past: Past, limit_s: float, grows: bool) -> Self:
        """Make the communicator of agreed ranks: this one, where nothing changes."""
        if grows and agreed.ranks == self._ranks and self._is_whole(agreed.lineage, limit_s):
            self._lineage = agreed.lineage
            return self
        return self._made_of(agreed.ranks, agreed.lineage, past)

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

    def _inherits(self, measured: CommunicatorPlans | None) -> bool:
        """Take over the measurements of the communicator before; all ranks call this. False where nobody has any.

        Newcomers have none, and a member has none of a communicator that did not come to stand there. So the first rank
        that has any tells them.
        """
        if not self._is_job or self._lineage == FOUNDED or self._options.why_nobody_may_come():
            if measured is not None:
                self._plans.take_part_of(measured)
            return measured is not None
        everybody, limit_s = sorted(self._ranks), self._options.timeout_s
        own = measured.past() if measured is not None else ""
        # The first rank tells at once; of many ranks' measurements one is enough.
        words = own if self._session.rank == everybody[0] else own[:1]
        told = self._session.exchange(everybody, "measurements", words.encode(), limit_s)
        teller = next((place for place, found in enumerate(told) if found), None)
        if teller is None:
            return False
        if teller > 0:
            words = own if self._session.rank == everybody[teller] else ""
            told = self._session.exchange(everybody, "measurements of others", words.encode(), limit_s)
        if not self._plans.take_past(told[teller].decode()):
            return False
        if measured is not None:
            self._plans.remember_with(measured)
        return True

    @property
    def epochs(self) -> tuple[Epoch, ...]:
        """Who has come, left or was lost since the communicator was founded, when and why: the latest 1,000 epochs, the
        oldest first. The same on all ranks of a job, also on newcomers; costs no communication."""
        return self._history.epochs()

    def _history_after(self, past: Past | None) -> History:
        """Return the history of this communicator, which stands now; all ranks call this."""
        if self._is_job and self._lineage != FOUNDED:
            history = told_history(self._session, self._ranks, past, self._options.timeout_s)
        elif past is not None:
            history = past.then(self._ranks, self._session)  # a group's survivors
        else:
            return History.founded(self._ranks)
        if self._core.rank == 0:
            log_epoch(history.latest())
        return history

    def _note_healed(self, nbytes: int, seconds: float) -> None:
        """Note that all ranks have moved so much state."""
        self._history = self._history.healed(nbytes, seconds)
        self._open_lobby()

    def _open_lobby(self) -> None:
        """Let newcomers come, and find the job; tell its status."""
        if not self._is_job:
            return
        refusal = self._options.why_nobody_may_come()
        processes = {rank: self._session.process_of(rank) for rank in self._ranks}
        processes = {rank: process for rank, process in processes.items() if process}  # those of this host
        status = status_text(self._history, processes, refusal)
        self._session.open_lobby(
            sorted(self._ranks), metadata.version("hemiola"), self._options.invitation(), refusal, status
        )
        if self._doorplate is not None and self._core.rank == 0:
            self._doorplate.hang()

    def _close_lobby(self) -> None:
        """Let nobody come any more, where nobody would let them in."""
        if self._is_job and self.successor is None:
            self._session.close_lobby()


class Agreed(NamedTuple):
    """The ranks of a communicator, as they have agreed."""

    ranks: tuple[int, ...]
    #: That of their communicator, which names their next agreement, too.
    lineage: str


def standing_of(
    session: Session,
    agreed: Agreed | None,
    make: Callable[[Agreed], _Made],
    agree: Callable[[Agreed], Agreed | None],
) -> _Made | None:
    """Make the communicator of agreed ranks; where one of them is lost meanwhile, those that are left agree again. None
    on a rank that leaves."""
    while agreed is not None:
        try:
            return make(agreed)
        except LostRankError:
            if not _misses_one(session, agreed.ranks):
                raise
        agreed = agree(agreed)
    return None


def _misses_one(session: Session, ranks: tuple[int, ...]) -> bool:
    """Say whether one of these ranks is lost. Between hosts a wire may find its end before the session does."""
    deadline = time.monotonic() + 2 * environment.SILENCE.value()
    while len(session.living(list(ranks))) == len(ranks):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True


def next_members(
    session: Session, upon: Agreed, limit_s: float, *, leaves: bool, admits: bool
) -> Agreed | None:
    """Agree with the other ranks on the next members, in their order; None on a rank that leaves.

    Raises
    ------
    MinorityError
        where the others have gone on without this rank.
    """
    ranks, lineage = upon
    found = session.next_members(sorted(ranks), lineage, leaves=leaves, admits=admits, timeout_s=limit_s)
    place = {rank: number for number, rank in enumerate(ranks)}
    members = tuple(sorted(found, key=lambda rank: (place.get(rank, len(place)), rank)))
    if session.rank in members:
        return Agreed(members, descended(lineage, "next", members))
    if leaves:
        return None
    raise MinorityError(f"shrink: the others have gone on as {list(members)}, without this rank")


def descended(lineage: str, how: str, ranks: Sequence[int]) -> str:
    """Return the lineage of a communicator that was made of another one's ranks."""
    return hashlib.sha256(f"{lineage} {how} {list(ranks)}".encode()).hexdigest()
