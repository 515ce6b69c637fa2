"""Design pages: a number each, and links that lead somewhere."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "design").glob("*.md"))


def test_every_design_page_has_a_number_of_its_own_and_says_it_in_its_title() -> None:
    numbers = [page.name[:4] for page in PAGES]
    assert len(numbers) > 15
    assert len(set(numbers)) == len(numbers), numbers
    for page, number in zip(PAGES, numbers, strict=True):
        assert page.read_text().startswith(f"# {number}: "), page.name


def test_links_between_pages_lead_to_files() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    missing = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert missing == []
