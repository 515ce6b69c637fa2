# SPDX-License-Identifier: Apache-2.0
"""Errors of the system that come from a limit or a sandbox: each says which one it is and how to lift it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from hemiola._core import refusal
from hemiola.errors import HemiolaError, ResourceError

#: The kernel's answers where a limit is reached, for any request.
_LIMITS = (errno.EMFILE, errno.ENFILE, errno.EAGAIN, errno.ENOMEM, errno.EFBIG, errno.ENOSPC, errno.EDQUOT)
#: The kernel's answers where a system call is missing or forbidden, unless it was for a file.
_REFUSALS = (errno.ENOSYS, errno.EPERM, errno.EACCES)


def is_limit(error: OSError) -> bool:
    """Return whether an error is about a limit or a sandbox, and not about a file of the user's."""
    return error.errno in _LIMITS or (error.errno in _REFUSALS and error.filename is None)


@contextmanager
def limits_named(what: str) -> Iterator[None]:
    """Raise ResourceError if the system refuses something within. `what` names the work."""
    try:
        yield
    except OSError as error:
        if isinstance(error, HemiolaError) or not is_limit(error):
            raise
        raise ResourceError(refusal(what, error.errno or 0)) from error


def check_proc(what: str) -> None:
    """Raise ResourceError where there is no /proc, which `what` needs."""
    if not os.path.exists("/proc/self"):
        raise ResourceError(f"/proc is not mounted, {what}; mount it with 'mount -t proc proc /proc'")


def check_system() -> None:
    """Raise ResourceError where something is missing without which no ranks can be started."""
    check_proc("which ranks need to find their files and each other")
    with limits_named("launch: the system refuses pidfd_open, which ranks need"):
        os.close(os.pidfd_open(os.getpid()))
    with limits_named("launch: the system refuses memfd_create, which ranks need"):
        os.close(os.memfd_create("hemiola-check"))
