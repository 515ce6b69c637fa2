"""How commands speak: one console for answers, one for everything else, tables that look alike, JSON on
request."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich import box
from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

#: The width of tables in a file or a pipe, where nobody says how wide a line is.
_PIPE_COLUMNS = 132


def console() -> Console:
    """Return the console for answers: standard output."""
    return _console(sys.stdout)


def notes() -> Console:
    """Return the console for everything that is not the answer: standard error."""
    return _console(sys.stderr)


def _console(stream: Any) -> Console:
    width = None if stream.isatty() or "COLUMNS" in os.environ else _PIPE_COLUMNS
    return Console(file=stream, width=width, highlight=False)


def answer(as_json: bool, data: Any, *parts: RenderableType) -> None:
    """Print `data` as one JSON document, or the parts for people."""
    if as_json:
        sys.stdout.write(json.dumps(data, indent=2, allow_nan=False) + "\n")
        return
    out = console()
    for part in parts:
        out.print(part)


def table(
    *columns: str, title: str | None = None, left: Sequence[str] = (), caption: str | None = None
) -> Table:
    """Return an empty table; columns are right-aligned numbers unless named in `left`."""
    made = Table(
        title=title,
        caption=caption,
        box=box.SIMPLE_HEAD,
        title_justify="left",
        caption_justify="left",
        title_style="bold",
        caption_style="dim",
        header_style="bold cyan",
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for name in columns:
        made.add_column(name, justify="left" if name in left else "right", no_wrap=name not in left)
    return made


def counted(count: int, noun: str) -> str:
    """Return '1 rank' or '2 ranks'."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


@contextmanager
def progress(description: str, *, total: int | None = None, quiet: bool = False) -> Iterator[ProgressBar]:
    """Show a bar on standard error while the block runs; silent where nobody watches or `quiet`."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True),
    )
    out = notes()
    with Progress(*columns, console=out, transient=True, disable=quiet or not out.is_terminal) as bar:
        yield ProgressBar(bar, description, total)


class ProgressBar:
    """One running bar: advance it, and say what is being done."""

    def __init__(self, bar: Progress, description: str, total: int | None) -> None:
        self._bar = bar
        self._task = bar.add_task(description, total=total)

    def doing(self, description: str) -> None:
        """Say what is being done now."""
        self._bar.update(self._task, description=description)

    def advance(self, steps: int = 1) -> None:
        """Count finished steps."""
        self._bar.advance(self._task, steps)
