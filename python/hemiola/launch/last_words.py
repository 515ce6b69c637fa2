# SPDX-License-Identifier: Apache-2.0
"""Where ranks tell their launcher why they end: a pipe that they inherit."""

from __future__ import annotations

import json
import os

from hemiola.environment import LAST_WORDS
from hemiola.errors import Cause


class LastWords:
    """A pipe, and the ranks' messages in it; a context manager that closes it.

    `descriptor` is for a child to inherit, `variables` are for its environment.
    """

    def __init__(self) -> None:
        self._read_end, self.descriptor = os.pipe()
        os.set_blocking(self._read_end, False)
        os.set_blocking(self.descriptor, False)  # no rank's end waits for a launcher
        self.variables = {LAST_WORDS.name: f"fd:{self.descriptor}:{os.fstat(self.descriptor).st_ino}"}
        self._unfinished = b""
        self._said: dict[int, Cause | None] = {}

    def __enter__(self) -> LastWords:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._read_end)
        os.close(self.descriptor)

    def said(self) -> dict[int, Cause | None]:
        """Return the causes that ranks at their end have named so far; None of one that named nobody."""
        try:
            while data := os.read(self._read_end, 1 << 16):
                self._unfinished += data
        except BlockingIOError:
            pass
        *lines, self._unfinished = self._unfinished.split(b"\n")
        for line in lines:
            words = json.loads(line)
            self._said[words["rank"]] = Cause(**words["cause"]) if words["cause"] else None
        return self._said
