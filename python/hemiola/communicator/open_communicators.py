# SPDX-License-Identifier: Apache-2.0
"""The open communicators of this process, and their end with it."""

from __future__ import annotations

import atexit
import os
import sys
import weakref
from typing import Protocol

from hemiola._core import Communicator as CoreCommunicator
from hemiola._core import Session
from hemiola.communicator.error_file import write_error_file
from hemiola.communicator.joining import leave_all
from hemiola.communicator.last_words import cause_of, described, own_cause, tell_launcher
from hemiola.errors import PROGRAM_ENDED, Cause


class Open(Protocol):
    """A communicator, as far as its end goes."""

    _core: CoreCommunicator
    _session: Session

    def close(self) -> None:
        """End it; it may be closed already."""


_open: weakref.WeakSet[Open] = weakref.WeakSet()
#: Those that are closed, too.
_made: weakref.WeakSet[Open] = weakref.WeakSet()


def add(communicator: Open) -> None:
    """Remember a communicator for as long as somebody holds it."""
    _open.add(communicator)
    _made.add(communicator)


def discard(communicator: Open) -> None:
    """Note that a communicator is closed."""
    _open.discard(communicator)


def is_open(communicator: Open) -> bool:
    """Say whether a communicator has not been closed. Raises ArgumentError in a forked child, which has none."""
    communicator._core.check_process()
    return communicator in _open


def say_why_it_ends(error: BaseException | None) -> None:
    """Tell the launcher and the other ranks the error that ends this process, before they find it gone.

    Parameters
    ----------
    error : the exception that it ends with; None where there is none that can be known.
    """
    sessions = [communicator._session for communicator in _made]
    told = [cause for session in sessions if isinstance(cause := session.told_cause, Cause)]
    cause = cause_of(error) or (told[0] if told else None)
    if cause is None and error is not None:
        cause = own_cause(error)
    tell_launcher(cause)
    write_error_file(error, cause)
    for session in sessions:
        session.tell_cause(PROGRAM_ENDED if error is None else described(error))


def _forget_in_forked_child() -> None:
    """A forked child is no rank: what it has copies of belongs to its parent."""
    _open.clear()
    _made.clear()


os.register_at_fork(after_in_child=_forget_in_forked_child)


@atexit.register
def _close_all() -> None:
    """Stop background threads before the interpreter goes, and tell the launcher and ranks on other hosts."""
    say_why_it_ends(getattr(sys, "last_value", None))
    still_open = list(_open)
    for communicator in still_open:
        communicator.close()
    leave_all([communicator._session for communicator in still_open])
