# SPDX-License-Identifier: Apache-2.0
"""Standard output and error as commands need them: they are there, and never fail over a letter."""

from __future__ import annotations

import codecs
import io
import os
import sys
import unicodedata
from typing import Any, TextIO

from hemiola.machine.standard_descriptors import hold_standard_descriptors

_ERRORS = "hemiola.plain"
#: Replacements for our letters that a terminal's encoding lacks; others become their plain form, or "?".
_PLAIN = str.maketrans(
    {
        **{"·": ".", "…": "...", "–": "-", "→": "->", "↔": "<->", "⇄": "<->", "⇒": "=>", "×": "x", "µ": "u"},
        **{
            "≥": ">=",
            "≤": "<=",
            "≈": "~",
            "√": "sqrt",
            "Σ": "sum",
            "α": "alpha",
            "β": "beta",
            "§": "section ",
        },
        **{"⌈": "ceil(", "⌉": ")", "►": ">", "▶": ">", "◄": "<", "◀": "<"},
        **{"²": "^2", "³": "^3", "⁷": "^7", "⁸": "^8", "⁹": "^9"},
    }
)


def prepare() -> None:
    """Give this process streams to write to, even if some are closed, with any encoding."""
    hold_standard_descriptors()
    if sys.stderr is None or sys.stderr is sys.__stderr__:  # not where a test reads it
        sys.stderr = _text(_Lossy(2, "w", closefd=False), getattr(sys.stderr, "encoding", "utf-8"))
    if sys.stdout is None:
        sys.stdout = _text(io.FileIO(1, "w", closefd=False), "utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_ERRORS)


class _Lossy(io.FileIO):
    """Drops what cannot be written: what is said beside the answer changes nothing of the answer."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return len(data)


def _text(raw: io.FileIO, encoding: str) -> TextIO:
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding=encoding, line_buffering=True)


def can_be_written() -> bool:
    """Return whether the output so far has reached standard output."""
    try:
        sys.stdout.flush()
    except OSError:
        return False
    return True


def leave() -> None:
    """Drop the output that standard output has not taken: the interpreter would try again at its end, fail, and return
    an exit code of its own."""
    if not can_be_written():
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
        can_be_written()


def plain(text: str) -> str:
    """Return a text in letters of ASCII."""
    decomposed = unicodedata.normalize("NFKD", text.translate(_PLAIN))
    shown = (letter for letter in decomposed if not unicodedata.combining(letter))
    return "".join(letter if letter.isascii() else "?" for letter in shown)


def _replacement(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return plain(error.object[error.start : error.end]), error.end


codecs.register_error(_ERRORS, _replacement)
