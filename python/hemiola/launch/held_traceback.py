# SPDX-License-Identifier: Apache-2.0
"""The end of a rank's standard error, held back from a traceback on until it is known whether the rank ends with it."""

from __future__ import annotations

import re
import time

#: The first line of Python's last output: a traceback, also behind PyTorch's "[rank3]: ", a syntax error, or why the
#: interpreter does not begin.
_BEGINS = re.compile(
    rb"(\[rank\d+\]: ?)?(\s*(\+ Exception Group )?Traceback \(most recent call last\):"
    rb'|  File "[^"]*", line \d+$|\S*python[\d.]*: )'
)
_HEADER = re.compile(r"^.*Traceback \(most recent call last\):$", re.MULTILINE)
_PREFIX = re.compile(r"^\[rank\d+\]: ?", re.MULTILINE)
#: How long a rank may take to end after its traceback; one that outlives it has its traceback printed. Of 64 ranks that
#: failed together on 2 cores half took 1.3 s, and the last 1.6 s: three times as long.
_HELD_S = 5.0
_MOST_LINES = 2000


class HeldTraceback:
    """The held lines of one rank.

    Nothing is lost: lines that turn out not to be the rank's end are given back, in order.

    Parameters
    ----------
    is_shown : whether lines are printed at once nevertheless, and held as a copy.
    """

    def __init__(self, *, is_shown: bool) -> None:
        self._is_shown = is_shown
        self._lines: list[bytes] = []
        self._since_s = 0.0

    def take(self, line: bytes) -> list[bytes]:
        """Take a line; return those to print now."""
        if not self._lines:
            if not _BEGINS.match(line):
                return [line]
            self._since_s = time.monotonic()
        self._lines.append(line)
        shown = [line] if self._is_shown else []
        return shown if len(self._lines) < _MOST_LINES else shown + self.given_back()

    @property
    def holds(self) -> bool:
        """Whether there is something."""
        return bool(self._lines)

    def is_overdue(self) -> bool:
        """Whether its rank goes on after all."""
        return self.holds and time.monotonic() > self._since_s + _HELD_S

    def given_back(self) -> list[bytes]:
        """Hold it no longer; return the lines that are still to print."""
        lines, self._lines = self._lines, []
        return [] if self._is_shown else lines

    def text(self) -> str:
        """Return it as text."""
        return b"\n".join(self._lines).decode(errors="replace")


def error_of(text: str) -> str:
    """Return the error with which a traceback ends, in one line and without its module: "KeyError: 'x'"."""
    plain = _PREFIX.sub("", text)
    headers = list(_HEADER.finditer(plain))
    lines = plain[headers[-1].end() if headers else 0 :].splitlines()
    error = next((line for line in lines if line.strip() and not line[0].isspace()), "")
    name, colon, words = error.partition(":")
    return name.rpartition(".")[2] + colon + words if re.fullmatch(r"[\w.]+", name) else error
