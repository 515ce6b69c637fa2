"""A progress bar that appears on the terminal once a run has lasted a second, for work done in the core."""

from __future__ import annotations

import sys
import time

from rich.console import Console
from rich.progress import Progress, TaskID

_REDRAW_S = 0.1


class ProgressBar:
    """Call it with the work done and the total; use it as a context so that it leaves no trace.

    Parameters
    ----------
    label : str, what is being done, such as "simulating".
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._started = time.monotonic()
        self._bar: Progress | None = None
        self._task = TaskID(0)
        self._drawn = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if self._bar is None and now - self._started > 1 and sys.stderr.isatty():
            # Drawn from here and not by a thread of its own, which would disturb what is being measured.
            self._bar = Progress(console=Console(stderr=True), transient=True, auto_refresh=False)
            self._task = self._bar.add_task(self._label, total=total)
            self._bar.start()
        if self._bar is not None and now - self._drawn > _REDRAW_S:
            self._bar.update(self._task, completed=done, total=total, refresh=True)
            self._drawn = now

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
