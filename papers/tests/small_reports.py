# SPDX-License-Identifier: Apache-2.0
"""Reports of one section on a small grid."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from drawn import figures
from papers.report import Report


def written(section: Callable[..., Any], folder: Path) -> Report:
    """Write a report of this section; its tables must hold true numbers, and its pictures too."""
    report = Report("small", "Small", folder)
    with figures() as drawn:
        section(report, "the command")
    report.write()
    text = report.path.read_text(encoding="utf-8")
    assert report.data
    assert "Reproduce: `the command`" in text
    for key, rows in report.data.items():
        for row in rows if isinstance(rows, list) else []:
            check_row(key, row)
    for figure in drawn:
        check_figure(figure)
    named = [line[line.index("(") + 1 : -1] for line in text.splitlines() if line.startswith("![")]
    assert len(named) == len(drawn)
    assert all((folder / name).exists() for name in named)
    return report


def check_row(key: str, row: Mapping[str, Any]) -> None:
    """Every number is finite, and a column called "A / B" is what A and B beside it make."""
    for column, value in row.items():
        if isinstance(value, int | float):
            assert math.isfinite(value), (key, column)
        above, slash, below = column.partition(" / ")
        parts = [_number(row, name) for name in (above, below)]
        if slash and isinstance(value, float) and None not in parts:
            assert math.isclose(value, parts[0] / parts[1], rel_tol=1e-6), (key, column, row)  # type: ignore[operator]


def _number(row: Mapping[str, Any], name: str) -> float | None:
    found = [row[column] for column in (name, f"{name}, ms", f"{name}, s") if column in row]
    return float(found[0]) if len(found) == 1 and isinstance(found[0], int | float) and found[0] else None


def check_figure(figure: Figure) -> None:
    """Something is drawn, all of it finite, and its curves lie within the axes."""
    shown = 0
    for axes in figure.axes:
        (left, right), (bottom, top) = sorted(axes.get_xlim()), sorted(axes.get_ylim())
        for line in axes.lines:
            points = [(float(x), float(y)) for x, y in zip(*line.get_data(), strict=True)]
            assert all(math.isfinite(part) for point in points for part in point)
            assert any(left <= x <= right and bottom <= y <= top for x, y in points) or len(points) <= 2
            shown += len(points)
        shown += len(axes.patches) + len(axes.images) + len(axes.collections)
    assert shown > 0
