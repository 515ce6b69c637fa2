# SPDX-License-Identifier: Apache-2.0
"""The table of a sweep: its rows, and the forms in which others read it."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from hemiola.units import format_bytes, format_seconds
from hemiola.whole_file import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Row:
    """One prediction of a sweep.

    Attributes
    ----------
    topology, collective, nbytes, algorithm, conditions : the question; names as the sweep was given them.
    seconds : float, the predicted time; None where the algorithm cannot run this question.
    bound_s : float, the time in seconds that no schedule can beat; None where there is none.
    chosen : str, the planner's choice where the algorithm is "plan"; else empty.
    note : str, the reason where `seconds` is None; else empty.
    """

    topology: str
    collective: str
    nbytes: int
    algorithm: str
    conditions: str
    seconds: float | None
    bound_s: float | None
    chosen: str = ""
    note: str = ""


@dataclass(frozen=True)
class StepRow(Row):
    """One prediction of a training step. `collective` names the training, and `algorithm` the library.

    `nbytes` counts all buffers of the step's collectives of one rank. `chosen` is the step's limit, in a sentence.

    Attributes
    ----------
    compute_s, hidden_s, exposed_s, waiting_s : float, seconds as in `hemiola.WhatIf`; None of other libraries.
    """

    compute_s: float | None = None
    hidden_s: float | None = None
    exposed_s: float | None = None
    waiting_s: float | None = None


_LATEX = str.maketrans({char: f"\\{char}" for char in "&%$#_{}"} | {"µ": "\\textmu{}", "×": "$\\times$"})


@dataclass(frozen=True)
class Sweep:
    """The table that `hemiola.sweep` returns.

    ``pandas.DataFrame(table.rows)`` and ``polars.DataFrame(table.rows)`` take its rows as they are.

    Attributes
    ----------
    rows : tuple of Row, in the order of the question: topology, collective, conditions, size, algorithm. Of trainings
        they are of the kind StepRow.
    network : "fluid" or "fifo", the network model of the simulations.
    """

    rows: tuple[Row, ...]
    network: str

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __repr__(self) -> str:
        absent = sum(row.seconds is None for row in self.rows)
        return f"<Sweep of {len(self.rows):,} predictions{f', {absent:,} of them not possible' if absent else ''}>"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{_html(name)}</th>" for name in self._columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{_html(text)}</td>" for text in _in_words(row)) + "</tr>"
            for row in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    @property
    def _columns(self) -> tuple[str, ...]:
        return columns_of(type(self.rows[0]) if self.rows else Row)

    def best(self) -> tuple[Row, ...]:
        """Pick the fastest row of each question.

        Returns
        -------
        tuple of Row, one for each topology, collective, size and conditions that any algorithm can run; of equal times
        the first.
        """
        found: dict[tuple[Any, ...], Row] = {}
        for row in self.rows:
            question = (row.topology, row.collective, row.conditions, row.nbytes)
            if row.seconds is not None and row.seconds < _time_of(found.get(question)):
                found[question] = row
        return tuple(found.values())

    def draw(self, ax: Axes | None = None, *, columns: int = 2, bandwidth: bool = False) -> Axes:
        """Draw times over sizes, a panel for each topology, collective and set of conditions; see `hemiola.draw`.

        Parameters
        ----------
        ax, columns, bandwidth : as for `hemiola.draw`.

        Returns
        -------
        matplotlib.axes.Axes, those with the picture.

        Raises
        ------
        ArgumentError
            No row has a time, or there are more panels than one picture holds.
        MissingPackageError
            Matplotlib is not installed.
        """
        import hemiola  # the root alone may name rooms above this one

        return hemiola.draw(self, ax, columns=columns, bandwidth=bandwidth)

    def to_csv(self, path: str | os.PathLike[str] | None = None) -> str:
        """Write comma-separated values with a line of names; times in seconds, empty where there is none.

        Parameters
        ----------
        path : file to write; None writes none.

        Returns
        -------
        str, the file's text.

        Raises
        ------
        OSError
            The file cannot be written.
        """
        text = io.StringIO()
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow(self._columns)
        lines.writerows(asdict(row).values() for row in self.rows)
        return _written(text.getvalue(), path)

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Write one JSON document: the network, and a list of rows with the names of `Row`.

        Parameters
        ----------
        path : file to write; None writes none.

        Returns
        -------
        str, the file's text.

        Raises
        ------
        OSError
            The file cannot be written.
        """
        document = {"network": self.network, "rows": [asdict(row) for row in self.rows]}
        return _written(json.dumps(document, indent=2, allow_nan=False) + "\n", path)

    def to_latex(self, path: str | os.PathLike[str] | None = None) -> str:
        """Write a LaTeX table: a line for each question, a column for each algorithm, the fastest in bold.

        Parameters
        ----------
        path : file to write; None writes none.

        Returns
        -------
        str, the file's text. It needs the packages booktabs and textcomp.

        Raises
        ------
        OSError
            The file cannot be written.
        """
        algorithms = list(dict.fromkeys(row.algorithm for row in self.rows))
        lines: dict[tuple[str, ...], dict[str, Row]] = {}
        for row in self.rows:
            lines.setdefault(_question(row), {})[row.algorithm] = row
        # A column that says the same everywhere says nothing.
        told = [place for place in range(4) if len({question[place] for question in lines}) > 1] or [3]
        heads = [("Topology", "Collective", "Conditions", "Size")[place] for place in told]
        text = [
            f"\\begin{{tabular}}{{{'l' * len(told)}{'r' * (len(algorithms) + 1)}}}",
            "\\toprule",
            " & ".join([*heads, *(name.translate(_LATEX) for name in algorithms), "Bound"]) + " \\\\",
            "\\midrule",
        ]
        for question, found in lines.items():
            best_s = min(map(_time_of, found.values()))
            cells = [question[place].translate(_LATEX) for place in told]
            for name in algorithms:
                time_s = _time_of(found.get(name))
                cell = format_seconds(time_s).translate(_LATEX) if math.isfinite(time_s) else "--"
                cells.append(f"\\textbf{{{cell}}}" if time_s == best_s else cell)
            bound_s = next(iter(found.values())).bound_s
            text.append(" & ".join([*cells, _time(bound_s).translate(_LATEX)]) + " \\\\")
        return _written("\n".join([*text, "\\bottomrule", "\\end{tabular}", ""]), path)


def read_rows(lines: list[dict[str, Any]]) -> tuple[Row, ...]:
    """Return rows that were written as JSON objects."""
    return tuple(_read_row(line, StepRow if "compute_s" in line else Row) for line in lines)


def columns_of(kind: type[Row]) -> tuple[str, ...]:
    """Return the names of a kind of row's columns."""
    return tuple(one.name for one in fields(kind))


def _read_row(line: dict[str, Any], kind: type[Row]) -> Row:
    return kind(**{name: line[name] for name in columns_of(kind)})


def _question(row: Row) -> tuple[str, str, str, str]:
    return row.topology, row.collective, row.conditions, format_bytes(row.nbytes)


def _time_of(row: Row | None) -> float:
    return float("inf") if row is None or row.seconds is None else row.seconds


def _time(seconds: float | None) -> str:
    return "–" if seconds is None else format_seconds(seconds)


def _in_words(row: Row) -> list[str]:
    words = asdict(row) | {"nbytes": format_bytes(row.nbytes)}
    return [
        _time(word) if name == "seconds" or name.endswith("_s") else str(word) for name, word in words.items()
    ]


def _html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def _written(text: str, path: str | os.PathLike[str] | None) -> str:
    if path is not None:
        write_whole(path, text)
    return text
