# SPDX-License-Identifier: Apache-2.0
"""Where in a text something is, for error messages that fit on one line."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NoReturn

from hemiola.errors import FormatError, TopologyWarning


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a text, and the key there.

    source : the text's name in messages, such as "'cluster.yaml'".
    line : int from 1, or 0 where the text as a whole is meant.
    """

    source: str
    line: int = 0
    key: str = ""

    def fail(self, message: str) -> NoReturn:
        """Raise FormatError: source, line, key, message."""
        raise FormatError(self._located(message)) from None

    def warn(self, message: str) -> None:
        """Warn with TopologyWarning: source, line, key, message."""
        warnings.warn(self._located(message), TopologyWarning, stacklevel=2)

    def _located(self, message: str) -> str:
        parts = [self.source]
        if self.line:
            parts.append(f"line {self.line}")
        if self.key:
            parts.append(quote(self.key))
        return f"{', '.join(parts)}: {_printable(message)}"


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def quote(text: str, most: int = 60) -> str:
    """Write text in quotes, on one line, cut after `most` characters, with unprintable characters escaped."""
    shown = _printable(text[:most])
    return f"'{shown}…'" if len(text) > most else f"'{shown}'"


def text_of(content: bytes, most: int, source: str) -> str:
    """Return a file's content as text; raise FormatError where it has over `most` bytes, or is not in UTF-8."""
    if len(content) > most:
        Place(source).fail(f"expected at most {most} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        Place(source).fail(
            f"expected text in UTF-8, found byte 0x{content[error.start]:02x} at {error.start}"
        )
