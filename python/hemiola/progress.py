"""A progress bar that appears on the terminal once a run has lasted a second, for work done in the core."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

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
        self._drawn = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if self._bar is None and now - self._started > 1 and sys.stderr.isatty():
            self._bar = _new_bar(self._label, total)
        if self._bar is not None and now - self._drawn > _REDRAW_S:
            self._bar.update(self._bar.task_ids[0], completed=done, total=total, refresh=True)
            self._drawn = now

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()


def _new_bar(label: str, total: int) -> Progress:
    # Imported where one is drawn: a fifth of what `import hemiola` takes, and ranks draw none.
    from rich.console import Console
    from rich.progress import Progress

    # Drawn from here and not by a thread of its own, which would disturb what is being measured.
    bar = Progress(console=Console(stderr=True), transient=True, auto_refresh=False)
    bar.add_task(label, total=total)
    bar.start()
    return bar
