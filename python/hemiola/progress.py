"""A progress bar that appears on the terminal once a run has lasted a second, for work done in the core."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import Progress, TaskID


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

    def __call__(self, done: int, total: int) -> None:
        if self._bar is None and time.monotonic() - self._started > 1:
            self._bar = Progress(console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(self._label, total=total)
            self._bar.start()
        if self._bar is not None:
            self._bar.update(self._task, completed=done)

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
