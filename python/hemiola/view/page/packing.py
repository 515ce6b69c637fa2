# SPDX-License-Identifier: Apache-2.0
"""Numbers as short text that the page's script unpacks, and the file that a page is.

A column is a typed array, compressed and in base64. A time is a whole number of ticks of the page's length."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hemiola.whole_file import write_whole

#: A page's length in ticks. 2^24 of them are as fine as the float32 of a canvas's coordinates.
TICKS = 1 << 24
#: Of a page: the most ranks, and the most transfers or operations.
MOST_RANKS, MOST_ROWS = 4096, 500_000


def column(values: ArrayLike) -> list[str]:
    """Return the type and the packed text of whole numbers >= 0, in the smallest type that holds them."""
    given = np.asarray(values)
    kind = np.min_scalar_type(int(given.max(initial=0)))
    letter = {1: "u1", 2: "u2"}.get(kind.itemsize, "u4")
    raw = given.astype(np.dtype(letter).newbyteorder("<")).tobytes()
    return [letter, base64.b64encode(zlib.compress(raw, 9)).decode()]


def ticks(times_s: ArrayLike, length_s: float) -> NDArray[np.int64]:
    """Return times from 0 to `length_s`, in ticks."""
    return np.rint(np.asarray(times_s) * (TICKS / length_s)).astype(np.int64)


def ragged(rows: Sequence[Sequence[int]]) -> list[list[str]]:
    """Return rows of different lengths as two columns: their lengths, and all numbers one after the other."""
    return [column([len(row) for row in rows]), column([one for row in rows for one in row])]


def write_page(path: Path, data: dict[str, Any], scripts: Sequence[str]) -> None:
    """Write the page of these data. The text of names and errors cannot leave its place in the script."""
    own = files("hemiola.view.page")
    read = {name: (own / name).read_text("utf-8") for name in ("page.html", "page.css", *scripts)}
    text = json.dumps({**data, "ticks": TICKS}, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    page = read["page.html"].replace("/*STYLE*/", read["page.css"])
    page = page.replace("/*SCRIPTS*/", "\n".join(read[name] for name in scripts))
    write_whole(path, page.replace("/*DATA*/null", text))
