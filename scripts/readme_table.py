# SPDX-License-Identifier: Apache-2.0
"""Writes README's table of collectives from docs/results/shared_memory.md; scripts/generate.py calls it."""

import re
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN = "<!-- shared memory: generated from docs/results/shared_memory.md by make generate -->\n"
END = "<!-- end of shared memory -->"
NO_BYTES = "0 B"  # of a barrier
_RATIO = re.compile(r"([\d.]+) \(([\d.]+)–([\d.]+)\)")  # noqa: RUF001: as the benchmark prints a median's interval


@dataclass(frozen=True)
class Cell:
    """One collective of one size: the fastest peer's time over Hemiola's, and the upper end of its interval."""

    collective: str
    ranks: str
    size: str
    ratio: float
    high: float

    @property
    def where(self) -> str:
        """The size, unless it is a barrier's, and the ranks."""
        return f"{self.ranks} ranks" if self.size == NO_BYTES else f"{self.size}, {self.ranks} ranks"


def text() -> str:
    """Return README.md with the table as the results have it."""
    before, rest = (ROOT / "README.md").read_text().split(BEGIN)
    after = rest.split(END)[1]
    page = (ROOT / "docs/results/shared_memory.md").read_text()
    return f"{before}{BEGIN}{table(page)}{END}{after}"


def table(page: str) -> str:
    """Return the table and the line about the machine: the first machine on a page, without busy neighbours."""
    section = page.split("\n## ")[1]
    found = [cell for part in section.split("\n### ") if "--busy" not in part for cell in cells(part)]
    lines = [
        "| collective | median ratio | worst ratio | cells lost | beyond measurement error |",
        "|---|--:|--:|--:|--:|",
    ]
    for collective in dict.fromkeys(cell.collective for cell in found):
        mine = [cell for cell in found if cell.collective == collective]
        worst = min(mine, key=lambda cell: cell.ratio)
        behind, surely = sum(cell.ratio < 1 for cell in mine), sum(cell.high < 1 for cell in mine)
        median = statistics.median(cell.ratio for cell in mine)
        lines.append(
            f"| {collective} | {median:.2f} | {worst.ratio:.2f} ({worst.where}) "
            f"| {behind} of {len(mine)} | {surely} |"
        )
    machine = re.search(r"^Machine: ([^,]+, \d+ cores)", section, re.M)
    assert machine, "expected a line 'Machine: NAME, N cores' in docs/results/shared_memory.md"
    ranks = list(dict.fromkeys(cell.ranks for cell in found))
    sizes = list(dict.fromkeys(cell.size for cell in found if cell.size != NO_BYTES))
    many = " and ".join(filter(None, [", ".join(ranks[:-1]), f"{ranks[-1]} ranks"]))
    return "\n".join([*lines, "", f"Machine: {machine[1]}; {many}, {sizes[0]} to {sizes[-1]}.", ""])


def cells(part: str) -> Iterator[Cell]:
    """Yield the rows of all tables that have a column 'X ÷ Hemiola' for each peer."""
    columns: list[str] = []
    for line in part.splitlines():
        words = [word.strip() for word in line.strip("|").split("|")]
        if words[0] == "collective":
            columns = words
        elif line.startswith("| ") and len(words) == len(columns) and "Hemiola µs" in columns:
            yield _cell(dict(zip(columns, words, strict=True)))
        elif not line.startswith("|"):
            columns = []


def _cell(row: dict[str, str]) -> Cell:
    peers = [name.removesuffix(" ÷ Hemiola") for name in row if name.endswith(" ÷ Hemiola")]
    fastest = min(peers, key=lambda peer: float(row[f"{peer} µs"].replace(",", "")))
    ratio = _RATIO.fullmatch(row[f"{fastest} ÷ Hemiola"])
    assert ratio, f"expected 'median (low–high)', found {row[f'{fastest} ÷ Hemiola']}"
    return Cell(row["collective"], row["ranks"], row["size"], float(ratio[1]), float(ratio[3]))
