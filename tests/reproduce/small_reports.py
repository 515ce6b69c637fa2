"""Reports of one section on a small grid."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hemiola.reproduce.report import Report


def written(section: Callable[..., Any], folder: Path) -> Report:
    """Write a report of this section; it must have tables, and the pictures that it names."""
    report = Report("small", "Small", folder)
    section(report, "the command")
    report.write()
    text = report.path.read_text(encoding="utf-8")
    assert report.data
    assert "Reproduce: `the command`" in text
    for line in text.splitlines():
        if line.startswith("!["):
            assert (folder / line[line.index("(") + 1 : -1]).stat().st_size > 1000
    return report
