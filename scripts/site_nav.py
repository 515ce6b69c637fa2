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


def text() -> str:
    """Return mkdocs.yml with the pages that there are."""
    settings = (ROOT / "mkdocs.yml").read_text().partition(_BEGIN)[0]
    lines = ["  - README.md", "  - Documentation: docs/README.md"]
    for part, folder in _PARTS.items():
        lines += [f"  - {part}:", *(f"      - {page}" for page in _pages(folder))]
    lines += [
        "  - Project:",
        *(f"      - {page.name}" for page in sorted(ROOT.glob("*.md")) if page.name != "README.md"),
    ]
    return "\n".join([settings + _BEGIN + lines[0], *lines[1:], ""])


def _pages(folder: str) -> list[str]:
    """Return the pages of a folder, its first page first; in the order of docs/README.md where that lists them all."""
    found = sorted((ROOT / "docs" / folder).rglob("*.md"), key=lambda page: (page.name != "README.md", page))
    names = [str(page.relative_to(ROOT)) for page in found]
    index = (ROOT / "docs/README.md").read_text()
    return (
        sorted(names, key=lambda name: index.find(name.removeprefix("docs/")))
        if folder in ("tutorial", "how-to", "explanation")
        else names
    )
