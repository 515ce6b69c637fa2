# SPDX-License-Identifier: Apache-2.0
"""Tells the launcher why a rank ends, and which rank is to blame."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict

from hemiola.environment import LAST_WORDS, RANK
from hemiola.errors import Cause, LostRankError, MismatchError, TimeoutError

#: A pipe takes 4,096 bytes at once or not at all; a letter may become six bytes of JSON.
_MOST_LETTERS = 500


def cause_of(error: BaseException | None) -> Cause | None:
    """Return the cause that an error, or one that it was raised for, names; None where none does."""
    for each in _chain(error):
        if isinstance(each, (LostRankError, TimeoutError, MismatchError)) and each.cause is not None:
            return each.cause
    return None


def described(error: BaseException) -> str:
    """Return an exception as the reason of a cause: "raised ValueError: bad batch 17"."""
    if isinstance(error, SystemExit):
        return f"raised SystemExit({error.code!r})"[:_MOST_LETTERS]
    text = str(error).strip().partition("\n")[0]
    return f"raised {type(error).__name__}{': ' if text else ''}{text}"[:_MOST_LETTERS]


def own_cause(error: BaseException) -> Cause | None:
    """Return an exception as the cause of the errors that follow from it on other ranks; None in a process that has no
    rank."""
    rank = RANK.value()
    return None if rank is None else Cause(rank, described(error), time.monotonic())


def tell_launcher(cause: Cause | None) -> None:
    """Tell a listening launcher that this process ends, and for which error."""
    rank, pipe = RANK.value(), LAST_WORDS.value()
    if rank is None or pipe is None:
        return
    words = {"rank": rank, "cause": asdict(cause) if cause is not None else None}
    descriptor, inode = pipe
    with suppress(OSError):  # the number may be that of another file in a process that the rank has started
        if os.fstat(descriptor).st_ino == inode:
            os.write(descriptor, json.dumps(words).encode() + b"\n")


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
