# SPDX-License-Identifier: Apache-2.0
"""A report in Markdown with pictures beside it, written as it grows so that a cut-off run leaves its finished
sections."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hemiola.machine.capacity import describe_machine
from hemiola.units import format_bytes
from hemiola.view import style
from hemiola.whole_file import write_whole

#: A curve of more points than this has markers on some of them.
_MOST_MARKERS = 40


class Report:
    """Collects sections, tables and pictures; `write` puts them into `<folder>/<name>.md`.

    Parameters
    ----------
    name : str, the file's stem; pictures go to `<folder>/<name>/`.
    title : str, the first heading.
    folder : path, made if missing.
    part : bool, whether a report that is there is kept and only the sections made now are put into it, in the place
        of older ones of the same heading.
    """

    def __init__(self, name: str, title: str, folder: str | Path, *, part: bool = False) -> None:
        self._name = name
        self._folder = Path(folder)
        self._part = part
        self._lines = [f"# {title}", ""]
        self.data: dict[str, Any] = {}
        self.path = self._folder / f"{name}.md"

    def text(self, *paragraphs: str) -> None:
        """Add paragraphs."""
        for paragraph in paragraphs:
            self._lines += [paragraph, ""]

    def section(self, heading: str, text: str, command: str) -> None:
        """Start a section; `command` reproduces its figures. It says when, where and by which version it was made, and
        how busy the machine was: its neighbours may be of other days and machines."""
        made = f"made {datetime.date.today().isoformat()} with hemiola {version('hemiola')}"
        where = f"Machine: {describe_machine()}, load average {os.getloadavg()[0]:.1f}."
        self._lines += [f"## {heading}", "", text, "", f"Reproduce: `{command}`; {made}. {where}", ""]

    def table(self, key: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Add a table and keep its rows under `key` in `data`; floats print with four significant digits."""
        self.data[key] = [dict(zip(columns, row, strict=True)) for row in rows]
        self._lines += ["| " + " | ".join(columns) + " |", "|" + "--:|" * len(columns)]
        self._lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
        self._lines.append("")

    def curves(
        self,
        name: str,
        title: str,
        x: Sequence[float],
        series: Mapping[str, Sequence[float | None]],
        *,
        x_label: str,
        y_label: str,
        log: str = "",
    ) -> None:
        """Add a picture with one line per entry of `series`; `log` names the logarithmic axes ("x", "y", "xy")."""
        figure, axes = style.new_axes(8, 4.5, title)
        looks = style.looks_of(series)
        for label, values in series.items():
            points = [(a, b) for a, b in zip(x, values, strict=True) if b is not None]
            axes.plot(
                *zip(*points, strict=True),
                marker=looks[label].marker,
                markevery=-(-len(points) // _MOST_MARKERS) or 1,
                ms=4,
                label=label,
                color=looks[label].color,
                linestyle=looks[label].linestyle,
            )
        is_bytes = x_label.endswith(", bytes")
        if "x" in log:
            axes.set_xscale("log", base=2)
        if "x" in log and min(x) >= 1:
            style.logarithmic(axes.xaxis, x, 2, _bytes if is_bytes else _plain)
        if "y" in log:
            axes.set_yscale("log")
            known = [value for values in series.values() for value in values if value is not None]
            style.logarithmic(axes.yaxis, known, 10, _plain)
        axes.set_xlabel(x_label.removesuffix(", bytes"))
        axes.set_ylabel(y_label)
        axes.grid(alpha=0.25)
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=9)
        self.picture(name, title, lambda path: style.save(figure, path))

    def picture(self, name: str, caption: str, draw: Callable[[Path], None]) -> None:
        """Add a picture that `draw(path)` writes."""
        path = self._folder / self._name / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        draw(path)
        self._lines += [f"![{caption}]({self._name}/{name}.png)", ""]

    def write(self) -> None:
        """Write the report to `path`."""
        self._folder.mkdir(parents=True, exist_ok=True)
        text = "\n".join(self._lines)
        if self._part and self.path.exists():
            text = _with_sections_of(text, self.path.read_text(encoding="utf-8"))
        write_whole(self.path, text)


def _with_sections_of(newer: str, older: str) -> str:
    """Return the older text with the newer one's introduction and sections in the place of its own; new ones last."""
    old, new = ({text.split("\n", 1)[0]: text for text in _sections(whole)} for whole in (older, newer))
    return "\n## ".join(text.rstrip("\n") + "\n" for text in (old | new).values())


def _sections(text: str) -> list[str]:
    return text.split("\n## ")


def _bytes(value: float) -> str:
    return format_bytes(round(value))


def _plain(value: float) -> str:
    return f"{value:g}"


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)
