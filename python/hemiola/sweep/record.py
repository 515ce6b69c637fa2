# SPDX-License-Identifier: Apache-2.0
"""The file from which an interrupted sweep goes on: the rows of each cell that is done."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, astuple
from pathlib import Path
from typing import Any

from hemiola._core import Schedule
from hemiola.errors import FormatError
from hemiola.sweep.cell import Cell, Own, QuestionCell
from hemiola.sweep.table import Row, read_rows
from hemiola.whole_file import check_whole, write_whole

_HEAD = "cells of hemiola.sweep"
#: An interrupt that ends the process at once loses no more work than of this time.
_SAVE_S = 1.0


def key_of(cell: Cell | QuestionCell) -> str:
    """Return a digest of a cell's question. A function among the algorithms counts by its label alone."""
    from importlib.metadata import version  # a thirtieth of a second, which most sweeps do not need

    return hashlib.sha256(json.dumps([version("hemiola"), *_told(cell)]).encode()).hexdigest()


def _told(cell: Cell | QuestionCell) -> list[Any]:
    now = [
        sorted(cell.conditions.late.items()),
        sorted((str(key), factor) for key, factor in cell.conditions.slow.items()),
        cell.conditions.density,
    ]
    if isinstance(cell, QuestionCell):
        return [astuple(cell.names), cell.topology.to_yaml(), cell.question._key(), now]
    return [
        cell.topology_name,
        cell.topology.to_yaml(),
        cell.kind,
        cell.nbytes,
        cell.conditions_name,
        now,
        [(label, _known_by(algorithm)) for label, algorithm in cell.algorithms],
        cell.root,
        cell.network,
    ]


def _known_by(algorithm: str | Own) -> str:
    if isinstance(algorithm, str):
        return algorithm
    return algorithm.digest if isinstance(algorithm, Schedule) else ""


class Record:
    """Cells that are done, in a file; none where there is no file."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._path = path
        self._rows: dict[str, tuple[Row, ...]] = {}
        self._saved_at = time.monotonic()
        if path is None:
            return
        check_whole(path)
        if os.path.exists(path):
            self._rows = _read(Path(path))

    def rows(self, cell: Cell | QuestionCell) -> tuple[Row, ...] | None:
        """Return the rows of a cell that is done; None where it is not."""
        return self._rows.get(key_of(cell)) if self._rows else None

    def add(self, cell: Cell | QuestionCell, rows: Sequence[Row]) -> None:
        """Remember that a cell is done, and write it down within a second."""
        if self._path is None:
            return
        self._rows[key_of(cell)] = tuple(rows)
        if time.monotonic() - self._saved_at > _SAVE_S:
            self.save()

    def save(self) -> None:
        """Write down all that is done."""
        if self._path is not None:
            cells = {key: [asdict(row) for row in rows] for key, rows in self._rows.items()}
            write_whole(self._path, json.dumps({_HEAD: cells}))
        self._saved_at = time.monotonic()


def _read(path: Path) -> dict[str, tuple[Row, ...]]:
    try:
        return {key: read_rows(rows) for key, rows in json.loads(path.read_bytes())[_HEAD].items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise FormatError(
            f"sweep: expected a file in which an earlier sweep kept its cells, found something else in '{path}'; name "
            "another file"
        ) from None
