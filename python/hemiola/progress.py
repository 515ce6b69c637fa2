# SPDX-License-Identifier: Apache-2.0
"""A progress bar that appears on the terminal once a run has lasted a second. Elsewhere it is a line every 30 s.

Bars nest: a bar within another bar's work moves the outer one."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from hemiola._core import watch_long_calls

if TYPE_CHECKING:
    from rich.progress import Progress

Item = TypeVar("Item")

_REDRAW_S = 0.1
#: Without a terminal, how often a line is written.
_LINE_S = 30.0
#: The unit of a share of the work.
_WHOLE = 1000


class ProgressBar:
    """Call it with the work done and the total. Used as a context, it leaves no trace.

    Work of the core in this thread moves it, too, if the core knows its progress. If other work of this thread has a
    bar already, this one is a part of it.

    Parameters
    ----------
    label : str, the work at hand, such as "simulating".
    quiet : bool, show nothing, also of what is inside, and leave a bar outside where it is.
    """

    def __init__(self, label: str, *, quiet: bool = False) -> None:
        self._label = label
        self._quiet = quiet
        self._started = time.monotonic()
        self._bar: Progress | None = None
        self._drawn = 0.0
        self._written = self._started
        self._outer: ProgressBar | None = None
        self._bar_before: ProgressBar | None = None
        self._begin, self._length = 0.0, 1.0  # of the part at hand, as shares
        self._most = (
            0.0  # that parts have reached: several bars within one part begin anew, the shown one does not
        )

    def __call__(self, done: int, total: int) -> None:
        self._begin, self._length = (done / total, 1 / total) if total else (1.0, 0.0)
        if self._outer is not None:
            self._outer._advance(self._begin)
        else:
            self._show(done, total, f"{done:,} of {total:,}")

    @contextmanager
    def part(self, length: float) -> Iterator[None]:
        """Do the next part of the work, which has this share of it. Bars within the context move this one."""
        self._length = length
        self._advance(0.0)
        yield
        self._begin += length
        self._length = 0.0

    def at(self, share: float) -> None:
        """Say which share of the work is done: the next part begins there."""
        self._begin, self._length = share, 0.0
        self._advance(0.0)

    def _advance(self, share: float) -> None:
        """Go to this share of the part at hand."""
        share = self._begin + self._length * share
        if self._outer is not None:
            self._outer._advance(share)
        else:
            self._most = share = max(share, self._most)
            self._show(round(share * _WHOLE), _WHOLE, f"{share:.0%}")

    def _show(self, done: int, total: int, how_far: str) -> None:
        now = time.monotonic()
        if self._quiet:
            return
        if self._bar is None and now - self._started > 1 and sys.stderr.isatty():
            self._bar = _new_bar(self._label, total)
        if self._bar is not None and now - self._drawn > _REDRAW_S:
            self._bar.update(self._bar.task_ids[0], completed=done, total=total, refresh=True)
            self._drawn = now
        elif self._bar is None and now - self._written > _LINE_S:
            self._written = now
            elapsed_s = now - self._started
            left = f", about {elapsed_s * (total - done) / done:.0f} s left" if done else ""
            line = f"{self._label}: {how_far} after {elapsed_s:.0f} s{left}"
            print(line, file=sys.stderr, flush=True)

    def each(self, items: Sequence[Item]) -> Iterator[Item]:
        """Yield items, each of which is as large a part of the work as the others."""
        for done, item in enumerate(items):
            self(done, len(items))
            yield item

    def __enter__(self) -> ProgressBar:
        self._bar_before = getattr(_here, "bar", None)
        self._outer = None if self._quiet else self._bar_before
        _here.bar = self
        self._watched_before = watch_long_calls(self._advance)
        return self

    def __exit__(self, *_: object) -> None:
        watch_long_calls(self._watched_before)
        _here.bar = self._bar_before
        if self._bar is not None:
            self._bar.stop()


#: The bar that work of this thread is part of, as `bar`.
_here = threading.local()


def _new_bar(label: str, total: int) -> Progress:
    # Imported when one is drawn: it takes a fifth of the time of `import hemiola`, and ranks draw none.
    from rich.console import Console
    from rich.progress import Progress

    # Drawn from here and not by a thread of its own, which would disturb measurements.
    bar = Progress(console=Console(stderr=True), transient=True, auto_refresh=False)
    bar.add_task(label, total=total)
    bar.start()
    return bar
