# SPDX-License-Identifier: Apache-2.0
"""Logs, records and metrics, which tell of the work without being part of it. They never raise into an operation.
An error of theirs would replace the error that they are to explain."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_logger = logging.getLogger("hemiola")
_told: set[str] = set()


def log(level: int, message: str, *arguments: object) -> None:
    """Tell the logger "hemiola" something. A handler that cannot write raises nothing here."""
    with suppress(Exception):  # handlers are the program's, and may raise anything
        _logger.log(level, message, *arguments)


@contextmanager
def harmless(what: str) -> Iterator[None]:
    """Turn an error within into a warning. All errors of one `what`, such as "HEMIOLA_RECORD '/full'", share one."""
    try:
        yield
    except Exception as error:  # the operation that reports this matters more than any error here
        if what in _told:
            return
        _told.add(what)
        log(logging.WARNING, "%s: %s. The job goes on without it", what, _reason(error))


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"'{error.filename}': {error.strerror}" if error.filename else error.strerror
    return f"{type(error).__name__}: {error}"
