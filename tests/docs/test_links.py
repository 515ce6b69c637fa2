# SPDX-License-Identifier: Apache-2.0
"""Links of the pages lead somewhere, and the files that the docs name are there."""

import os
import re
from functools import cache
from pathlib import Path

import pages
import pytest
from pages import ROOT

PAGES = [
    *pages.docs(),
    *sorted(
        page
        for folder in ("src", "tests", "scripts", "benchmarks", "papers")
        for page in (ROOT / folder).rglob("*.md")
    ),
]
NAMES = {str(page.relative_to(ROOT)): page for page in PAGES}
_KEPT = ("md", "cpp", "hpp", "py", "sh", "bib", "toml", "yaml", "svg", "png", "txt", "json", "jsonl")
#: A path with a folder in it, or the bare name of a page or of a C++ source; scripts of users have bare names, too.
PATH = re.compile(rf"(?:[\w.-]+/)+(?:[\w.-]+\.(?:{'|'.join(_KEPT)}))?|[\w.-]+\.(?:md|cpp|hpp)")


@cache
def tree() -> set[str]:
    """Return every file and folder of the repository that is not built."""
    found = {path.name for path in ROOT.iterdir() if path.is_file()}
    for top in (
        "src",
        "python",
        "papers",
        "tests",
        "docs",
        "scripts",
        "benchmarks",
        "examples",
        "packaging",
        "third_party",
        ".github",
    ):
        for folder, folders, files in os.walk(ROOT / top):
            folders[:] = [name for name in folders if name != "__pycache__"]
            place = Path(folder).relative_to(ROOT)
            found |= {str(place / name) for name in files} | {str(place)}
    return found


def test_a_broken_link_a_missing_anchor_and_a_missing_file_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# One title\n\n[good](page.md#one-title), [no page](no.md), [no anchor](#two), ![no picture](no.png), "
        "`docs/no.md`"
    )
    assert broken(page) == ["no.md", "#two", "no.png"]
    assert missing(page) == ["docs/no.md"]


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_to_files_and_headings(name: str) -> None:
    assert broken(NAMES[name]) == []


@pytest.mark.parametrize("name", NAMES)
def test_files_that_a_page_names_are_there(name: str) -> None:
    assert missing(NAMES[name]) == []


def broken(page: Path) -> list[str]:
    """Return the links within the repository that lead nowhere."""
    found = []
    for target in pages.links(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = page.parent / path if path else page
        if not there.exists() or (anchor and anchor not in pages.headings(there.read_text(encoding="utf-8"))):
            found.append(target)
    return found


def missing(page: Path) -> list[str]:
    """Return the paths in backticks that no file or folder of the repository ends with."""
    named = {each for each in pages.code(page.read_text(encoding="utf-8")) if PATH.fullmatch(each)}
    return [
        each
        for each in sorted(named)
        if not any(f"/{path}".endswith(f"/{each.rstrip('/')}") for path in tree())
    ]
