# SPDX-License-Identifier: Apache-2.0
"""One rank of a launch, seen from the launching process: its reports, and how its process has ended."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import time
from typing import Any

from hemiola.launch.report import REPORT_LENGTH


class LaunchedRank:
    """One process, and its reports.

    The process leads a group of its own, which holds the processes that it starts. That it has ended is told by the
    fork server: a child of its own may hold its end of the pipe.
    """

    def __init__(self) -> None:
        self.process: int | None = None
        self.pipe: int | None = None
        self.report = bytearray()
        #: How its process has ended, as subprocess has it; None while that is not known.
        self.code: int | None = None
        #: Why nobody will ever know how its process has ended; "" where that can still be told.
        self.loss = ""
        self.has_hung_up = False
        #: When it reported how its function ended, or ended without a report.
        self.finished_at: float | None = None

    @property
    def has_ended(self) -> bool:
        """Whether its process has ended."""
        return self.code is not None or bool(self.loss)

    def look(self) -> None:
        """Read its latest output."""
        with contextlib.suppress(BlockingIOError):
            while self.pipe is not None and not self.has_hung_up:
                data = os.read(self.pipe, 1 << 20)
                self.report += data
                self.has_hung_up = not data
        if self.finished_at is None and (self.has_ended or self._has_reported()):
            self.finished_at = time.monotonic()

    def _has_reported(self) -> bool:
        length_bytes = REPORT_LENGTH.size
        if len(self.report) < length_bytes:
            return False
        expected_bytes: int = REPORT_LENGTH.unpack_from(self.report)[0]
        return len(self.report) >= length_bytes + expected_bytes

    def outcome(self) -> tuple[str, Any]:
        """Return ("result", value) or ("error", (exception, text, cause)); only when it has finished."""
        if self.loss:
            return "error", (None, self.loss, None)
        code = self.code or 0  # it may have reported, and still be ending
        if self._has_reported() and code >= 0:
            with contextlib.suppress(Exception):
                kind, value = pickle.loads(memoryview(self.report)[REPORT_LENGTH.size :])
                return kind, pickle.loads(value) if kind == "result" else value
        if code < 0:
            return "error", (None, f"killed by signal {-code} ({signal.Signals(-code).name})", None)
        return "error", (None, f"its process ended with exit code {code} before the function returned", None)

    def unfinished(self) -> str:
        """Return the reason why it is not done."""
        return (
            " (its function has returned; a thread that it has left behind runs on)"
            if self.finished_at
            else ""
        )
