# SPDX-License-Identifier: Apache-2.0
"""The site: built without a warning, with every public name and command, and without requests to other hosts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pages import ROOT

from hemiola.cli import COMMANDS

#: Of a line of public_names.txt: the full name of what is defined there.
NAME = re.compile(r"\s*(?:class |static )?([\w.]+)")
ELSEWHERE = re.compile(r": module$|^[\w.]+ = | is hemiola\.")
#: What a browser fetches for a page, from another host.
FETCHED = re.compile(
    r"""<(?:script|img|link rel="(?:stylesheet|icon|preconnect)")[^>]*(?:src|href)="(?:https?:)?//"""
)


@pytest.fixture(scope="module")
def site() -> Path:
    subprocess.run(
        [sys.executable, str(ROOT / "scripts/site_pages.py"), "build/docs/pages"], cwd=ROOT, check=True
    )
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert "WARNING" not in built.stderr, built.stderr
    assert built.returncode == 0, built.stderr
    return ROOT / "build/docs/site"


def test_the_site_holds_all_and_asks_nobody(site: Path) -> None:
    pages = {page: page.read_text() for page in site.rglob("*.html")}
    anchors = {anchor for text in pages.values() for anchor in re.findall(r'id="([^"]+)"', text)}
    names = [
        NAME.match(line)[1].removesuffix(".__init__")  # type: ignore[index]
        for line in (ROOT / "docs/reference/public_names.txt").read_text().splitlines()
        if line and line[0] != "#" and not ELSEWHERE.search(line)
    ]
    assert len(names) > 500
    assert [name for name in names if name not in anchors] == []

    commands = pages[site / "docs/reference/cli.html"]
    assert [name for name in COMMANDS if f"hemiola {name}" not in commands] == []
    assert [str(page) for page, text in pages.items() if FETCHED.search(text)] == []
    index = (site / "search/search_index.js").read_text()  # a script, which a page may load from a folder
    assert "hemiola.Plan.explain" in index
