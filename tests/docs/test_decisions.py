"""Pages of decisions have a number each."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "decisions").glob("*.md"))


def test_every_page_of_a_decision_has_a_number_of_its_own_and_says_it_in_its_title() -> None:
    numbers = [page.name[:4] for page in PAGES]
    assert len(numbers) > 15
    assert len(set(numbers)) == len(numbers), numbers
    for page, number in zip(PAGES, numbers, strict=True):
        assert page.read_text().startswith(f"# {number}: "), page.name
