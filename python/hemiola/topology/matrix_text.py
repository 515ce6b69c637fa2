# SPDX-License-Identifier: Apache-2.0
"""Matrices of devices in a text that people paste: with comment marks, quotes, table bars or prompts around them.

The readers (nvidia_smi.py, amd_matrices.py) interpret a cell; here a text becomes lines of words."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from hemiola.topology.place import Place, quote

_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
#: Invisible characters, and marks that quote or separate: none is part of a name or a cell.
_MARKS = re.compile("[\u200b\u200e\u200f\ufeff|│,\"'`]")
_COMMENT = re.compile(r"^[\s#>;%*/\\-]+")
_WRITTEN_OUT = (("\\t", "\t"), ("\\n", "\n"))


@dataclass(frozen=True)
class Line:
    """The words of a line, and where it is."""

    words: list[str]
    place: Place


@dataclass
class Matrix:
    """Devices in the order of the columns, and the cell of each ordered pair.

    legend : names that lines below the matrix give to devices.
    says_gpu_numa : whether there is a column "GPU NUMA ID", as drivers that know H100 print it.
    """

    place: Place
    devices: list[str]
    cells: dict[tuple[str, str], str] = field(default_factory=dict)
    legend: dict[str, str] = field(default_factory=dict)
    says_gpu_numa: bool = False

    def check_symmetry(self) -> None:
        """Refuse pairs that are related otherwise in the other direction."""
        for (a, b), there in self.cells.items():
            if there != (back := self.cells[b, a]):
                self.place.fail(f"expected the same both ways, found {a} to {b}: {there}, {b} to {a}: {back}")


def lines_of(text: str, source: str) -> list[Line]:
    """Take a text apart, without the decoration around its words."""
    text = _ESCAPES.sub("", text)
    for mark, character in _WRITTEN_OUT:
        text = text.replace(mark, character)
    lines = [_COMMENT.sub("", _MARKS.sub(" ", line)).split() for line in text.splitlines()]
    return [Line(words, Place(source, number)) for number, words in enumerate(lines, 1)]


def add_row(matrix: Matrix, row: str, cells: list[str], place: Place) -> None:
    """Add the cells of a row; a row that stands there again changes nothing."""
    if len(cells) < len(matrix.devices):
        place.fail(f"expected {len(matrix.devices)} cells in the row of {quote(row)}, found {len(cells)}")
    for column, cell in zip(matrix.devices, cells, strict=False):
        if matrix.cells.setdefault((row, column), cell) != cell:
            place.fail(
                f"the row of {quote(row)} stands here again, with {quote(cell)} under {quote(column)} in place of "
                f"{quote(matrix.cells[row, column])}"
            )


def check_complete(matrix: Matrix) -> None:
    """Refuse a matrix without a row for each of its columns."""
    for device in matrix.devices:
        if (device, device) not in matrix.cells:
            matrix.place.fail(f"expected a row of {quote(device)} below the names of the columns, found none")
