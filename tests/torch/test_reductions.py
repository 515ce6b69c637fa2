# SPDX-License-Identifier: Apache-2.0
"""Every type by every reduction: results are right or every rank is told, and docs/reference/pytorch.md says which."""

from __future__ import annotations

from pathlib import Path

from forked import run
from reduction_ranks import OPS, TYPES

PAGE = Path(__file__).parents[2] / "docs/reference/pytorch.md"
RANKS = 2


def table(found: dict[tuple[str, str], str]) -> str:
    """Return the page's table: a row for each set of types that are alike."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for name in TYPES:
        row = tuple("yes" if found[name, op] == "yes" else "–" for op in OPS)
        alike.setdefault(row, []).append(name)
    lines = [f"| {' | '.join(('', *OPS))} |", "|---" * (len(OPS) + 1) + "|"]
    lines += [f"| {' | '.join((', '.join(names), *row))} |" for row, names in alike.items()]
    return "\n".join(lines)


def test_the_page_says_what_is_reduced_and_how(way: str) -> None:
    zero, one = run("reduction_ranks", ["what_is_reduced"], RANKS)["what_is_reduced"]
    assert zero == one
    assert set(zero.values()) == {"yes", "GroupArgumentError", "ValueError"}  # PyTorch's, for complex numbers
    _, _, after = PAGE.read_text().partition("<!-- reductions: tests/torch/test_reductions.py compares -->\n")
    said, _, _ = after.partition("\n<!-- end of reductions -->")
    assert said == table(zero), f"docs/reference/pytorch.md should have:\n{table(zero)}"
