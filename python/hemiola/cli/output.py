# SPDX-License-Identifier: Apache-2.0
"""How commands speak: one console for answers, tables that look alike, JSON on request."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text, TextType

#: Of the documents that --json prints (docs/reference/json.md); a key that goes or changes its meaning raises it.
JSON_VERSION = 1

#: The width of tables in a file or a pipe, where nobody says how wide a line is.
_PIPE_COLUMNS = 132
#: A column whose text is wrapped reads well from this width on.
_WRAPPED = 32


#: The command that answers.
_command = ""


def console() -> Console:
    """Return the console for answers: standard output."""
    return _console(sys.stdout)


def _console(stream: Any) -> Console:
    width = None if stream.isatty() or "COLUMNS" in os.environ else _PIPE_COLUMNS
    return Console(file=stream, width=width, highlight=False)


def printable(text: str) -> str:
    """Replace invalid Unicode (bytes that the shell handed over), so that the text can be printed."""
    return text.encode("utf-8", "replace").decode("utf-8", "replace")


def answer(as_json: bool, data: Any, *parts: RenderableType) -> None:
    """Print `data` as one JSON document, or the parts for people. A list becomes the document's `results`."""
    if as_json:
        sys.stdout.write(json.dumps(_document(data), indent=2, allow_nan=False) + "\n")
        return
    out = console()
    for part in parts:
        out.print(part)


def written(*paths: Path | None) -> list[Text]:
    """Return a line for each file that a command has written."""
    return [Text(f"Written to {printable(str(path))}.") for path in paths if path is not None]


def name_command(words: Sequence[str], groups: Collection[str]) -> None:
    """Let the documents of this process say which command made them, such as 'topology show'."""
    global _command
    below = [word for word in words[1:2] if words[0] in groups]
    _command = " ".join([*words[:1], *below])


def _document(data: Any) -> dict[str, Any]:
    named = {"command": _command, "version": JSON_VERSION}
    return named | (data if isinstance(data, dict) else {"results": data})


def table(
    *columns: str, title: TextType | None = None, left: Sequence[str] = (), caption: TextType | None = None
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


def line_above_bar(text: str, stream: TextIO) -> None:
    """Print a line at once; on a terminal in the place of a progress bar, which is drawn again below."""
    print(f"\r\x1b[2K{text}" if stream.isatty() else text, file=stream, flush=True)


def fitted(
    shown: Table, *, dropped: Sequence[str] = (), prefix: str = "", wrapped: Sequence[str] = ()
) -> Table:
    """Return a table as a narrow line has room for it: without a prefix that its labels share, then without columns.

    Parameters
    ----------
    shown : table whose first column has the labels.
    dropped : headers of columns that may go, the least important first.
    prefix : text that labels may leave out, because it is in the title.
    wrapped : headers of columns whose text reads well over several lines.
    """
    width = console().width
    columns = {str(column.header): column for column in shown.columns}
    cells = {name: list(column.cells) for name, column in columns.items()}
    labels = next(iter(cells))
    if prefix and _length(cells, wrapped) > width:
        cells[labels] = [str(label).removeprefix(prefix) for label in cells[labels]]
    for name in dropped:
        if _length(cells, wrapped) > width:
            del cells[name]
    left = [name for name in cells if columns[name].justify == "left"]
    made = table(*cells, title=shown.title, caption=shown.caption, left=left)
    for row, line in zip(shown.rows, zip(*cells.values(), strict=True), strict=True):
        made.add_row(*line, style=row.style)
    return made


def _length(cells: Mapping[str, Sequence[RenderableType]], wrapped: Sequence[str]) -> int:
    """Return how wide a table is, with two blanks between columns."""
    longest = {name: max(map(_cell_length, (name, *column))) for name, column in cells.items()}
    return sum(
        min(length, _WRAPPED) if name in wrapped else length for name, length in longest.items()
    ) + 2 * len(longest)


def _cell_length(cell: RenderableType) -> int:
    return cell.cell_len if isinstance(cell, Text) else Text.from_markup(str(cell)).cell_len


def counted(count: int, noun: str) -> str:
    """Return '1 rank' or '2 ranks'."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
