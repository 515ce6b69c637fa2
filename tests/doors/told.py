# SPDX-License-Identifier: Apache-2.0
"""What a call through a door raises, as data that crosses processes."""

from __future__ import annotations

from collections.abc import Callable

#: The names of an exception's classes, its own first, and its text; neither where nothing was raised.
Told = tuple[list[str], str]


def told(call: Callable[[], object]) -> Told:
    """Make a call, and return what it raises."""
    try:
        call()
    except Exception as error:
        return [kind.__name__ for kind in type(error).__mro__], str(error)
    return [], ""
