# SPDX-License-Identifier: Apache-2.0
"""A large JSON object, read piece by piece: its lists item by item, in the memory of one item."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hemiola.topology.place import Place, quote

#: Characters that are read at once.
_PIECE = 1 << 20
#: An item, or a value beside the lists, is no longer than this.
_MOST = 64 << 20


class JsonStream:
    """The parts of a file with one JSON object.

    Parameters
    ----------
    path : Path.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._text, self._at, self._gone, self._line = "", 0, 0, 1
        self._decoder = json.JSONDecoder()

    def parts(self, streamed: frozenset[str]) -> Iterator[tuple[str, Any]]:
        """Yield each key with its value; of lists with these keys, the key with each item.

        Parameters
        ----------
        streamed : frozenset of str.

        Yields
        ------
        (str, value)

        Raises
        ------
        FormatError
            The file is no JSON object, or cut off; the message names file and line.
        OSError
            The file cannot be read.
        """
        with self._path.open(encoding="utf-8", errors="replace") as self._file:
            self._expect("{")
            if self._next() == "}":
                return
            while True:
                key = self._value()
                self._expect(":")
                if key in streamed and self._next() == "[":
                    for item in self._items():
                        yield key, item
                else:
                    yield str(key), self._value()
                if self._one_of(",}") == "}":
                    return

    def _items(self) -> Iterator[Any]:
        self._expect("[")
        if self._next() == "]":
            self._expect("]")
            return
        while True:
            yield self._value()
            if self._one_of(",]") == "]":
                return

    def _value(self) -> Any:
        """Decode one value; where the text ends inside it, read on."""
        self._next()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                is_inside = len(self._text) - self._at <= _MOST
                if is_inside and self._more():
                    continue
                self._fail(
                    f"expected a value, found {quote(self._text[self._at : self._at + 40])} ({error.msg})"
                )
            except RecursionError:
                self._fail("expected values that lie a few levels deep, found a thousand and more")
            if end == len(self._text) and self._more():  # a number may go on
                continue
            self._at = end
            return value

    def _next(self) -> str:
        """Go to the next character that is no blank, and return it."""
        while True:
            while self._at < len(self._text):
                if not self._text[self._at].isspace():
                    return self._text[self._at]
                self._at += 1
            if not self._more():
                self._fail("expected more, found the end of the file; it may be cut off")

    def _one_of(self, wanted: str) -> str:
        found = self._next()
        if found not in wanted:
            self._fail(f"expected {' or '.join(wanted)}, found {quote(found)}")
        self._at += 1
        return found

    def _expect(self, wanted: str) -> None:
        self._one_of(wanted)

    def _more(self) -> bool:
        """Read the next piece, and forget what has been decoded."""
        piece = self._file.read(max(_PIECE, len(self._text) - self._at))
        self._line += self._text.count("\n", 0, self._at)
        self._text, self._at = self._text[self._at :] + piece, 0
        return bool(piece)

    def _fail(self, message: str) -> Any:
        line = self._line + self._text.count("\n", 0, self._at)
        Place(f"'{self._path}'", line).fail(message)
