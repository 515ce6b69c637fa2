# SPDX-License-Identifier: Apache-2.0
"""Pages of decisions have a number each, the same four parts, and one page."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs/decisions").glob("*.md"))
PARTS = ["Context", "Decision", "Alternatives", "Consequences"]


def test_every_page_of_a_decision_has_a_number_of_its_own_and_says_it_in_its_title() -> None:
    numbers = [page.name[:4] for page in PAGES]
    assert len(numbers) > 15
    assert len(set(numbers)) == len(numbers), numbers
    for page, number in zip(PAGES, numbers, strict=True):
        assert page.read_text().startswith(f"# {number}: "), page.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_decision_has_context_decision_alternatives_and_consequences_on_one_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)", text, re.M) == PARTS
    assert len(text.split()) <= 1000, "keep the decision; measurements belong to docs/results"
