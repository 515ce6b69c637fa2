# SPDX-License-Identifier: Apache-2.0
"""Requests of this process to the kernel about its family, for which Python has no function."""

from __future__ import annotations

import ctypes
import os
import signal

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36

# Loaded here, so that all of this may be called between fork and exec.
_libc = ctypes.CDLL(None)


def end_with_parent(parent: int | None = None) -> None:
    """Have the kernel kill this process when the thread that started it ends.

    Parameters
    ----------
    parent : process that started it; this process ends at once if that has ended meanwhile. None: nobody can tell.
    """
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent is not None and os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of the orphans that descendants of this process leave behind."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)
