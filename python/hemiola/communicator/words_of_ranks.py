# SPDX-License-Identifier: Apache-2.0
"""The JSON of ranks in a meeting. A reader checks its form before any use."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TypeVar

from hemiola.errors import Cause, FormatError

_Read = TypeVar("_Read")


def read_words(words: bytes, sender: int, what: str, read: Callable[[object], _Read]) -> _Read:
    """Read JSON from another rank by `read`, and return the result.

    Raises
    ------
    FormatError
        naming the sender, for bytes without JSON and for JSON in another form.
    """
    try:
        return read(json.loads(words))
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        reason = f"has sent what no rank sends: {what} of {len(words)} bytes that cannot be read: {error}"
        wrong = FormatError(
            f"rank {sender} {reason}. Its bytes were damaged on the way, or it runs another program"
        )
        wrong.cause = Cause(sender, reason, time.monotonic())
        raise wrong from error
