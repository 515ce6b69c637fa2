# SPDX-License-Identifier: Apache-2.0
"""Writes the list of pages at the end of mkdocs.yml by the parts of the documentation, for scripts/generate.py."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_BEGIN = "# Generated (make generate), from the folders of docs.\nnav:\n"
_PARTS = {
    "Tutorial": "tutorial",
    "How to": "how-to",
    "Reference": "reference",
    "Explanation": "explanation",
    "Results": "results",
    "Decisions": "decisions",
}
_MODULES = "docs/reference/api/"


def text() -> str:
    """Return mkdocs.yml with the pages that there are."""
    settings = (ROOT / "mkdocs.yml").read_text().partition(_BEGIN)[0]
    lines = ["  - README.md", "  - Documentation: docs/README.md"]
    for part, folder in _PARTS.items():
        found = _pages(folder)
        modules = [page for page in found if page.startswith(_MODULES)]
        lines += [f"  - {part}:", *(f"      - {page}" for page in found if page not in modules)]
        lines += ["      - API:", *(f"          - {page}" for page in modules)] if modules else []
    lines += [
        "  - Project:",
        *(f"      - {page.name}" for page in sorted(ROOT.glob("*.md")) if page.name != "README.md"),
    ]
    return "\n".join([settings + _BEGIN + lines[0], *lines[1:], ""])


def _pages(folder: str) -> list[str]:
    """Return the pages of a folder: README, then those that docs/README.md lists in its order, then others."""
    found = sorted((ROOT / "docs" / folder).rglob("*.md"), key=lambda page: (page.name != "README.md", page))
    names = [str(page.relative_to(ROOT)) for page in found]
    index = (ROOT / "docs/README.md").read_text()
    places = {name: index.find(f"({name.removeprefix('docs/')})") for name in names}
    return sorted(names, key=lambda name: places[name] if places[name] >= 0 else len(index))
