# SPDX-License-Identifier: Apache-2.0
"""Reads what reports print, and how far a printed number may be from the one that it rounds."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MIB, GIB = 1 << 20, 1 << 30

Row = dict[str, str]


@lru_cache(maxsize=8)
def report(paper: str) -> str:
    return (ROOT / "docs" / "results" / f"{paper}.md").read_text(encoding="utf-8")


def section(paper: str, heading: str) -> str:
    """Return the section whose heading begins so."""
    (found,) = (part for part in report(paper).split("\n## ")[1:] if part.startswith(heading))
    return found


def tables_in(text: str) -> list[list[Row]]:
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", text + "\n", re.M):
        columns, _, *rows = (
            [cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")]
            for line in block.splitlines()
        )
        found.append([dict(zip(columns, row, strict=True)) for row in rows])
    return found


def tables(paper: str, heading: str) -> list[list[Row]]:
    """Return the tables of the section whose heading begins so."""
    return tables_in(section(paper, heading))


def rows_of(paper: str, heading: str, *columns: str) -> Iterator[Row]:
    """Return the rows of all tables of a section that have these columns."""
    rows = [row for table in tables(paper, heading) for row in table if set(columns) <= set(row)]
    assert rows, f"{paper}.md, {heading}: no table has the columns {', '.join(columns)}"
    return iter(rows)


def half(printed: str, digits: int = 4) -> float:
    """Return half a unit of the last of so many significant digits."""
    value = abs(float(printed))
    return 0.0 if value == 0 else 0.5000001 * 10.0 ** (math.floor(math.log10(value)) - digits + 1)


def check(printed: str, expected: float, where: object, tolerance: float = 0.0, digits: int = 4) -> None:
    """Assert that a number was rounded to what is printed; `tolerance` is a share of it, for what it is made of."""
    off = abs(float(printed) - expected)
    least = 1e-9 if expected == 0 else 0.0
    assert off <= half(printed, digits) + tolerance * abs(expected) + least, (printed, expected, where)


def check_quotient(printed: str, over: str, under: str, where: object, digits: int = 4) -> None:
    """Assert that a number is the quotient of two, each of which is printed with four digits."""
    least = (float(over) - half(over)) / (float(under) + half(under))
    most = (float(over) + half(over)) / (float(under) - half(under))
    at = half(printed, digits)
    assert least - at <= float(printed) <= most + at, (printed, over, under, where)
