# SPDX-License-Identifier: Apache-2.0
"""The site: built without a warning, with every public name and command, and without requests to other hosts."""

from __future__ import annotations

import fcntl
import html
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import cli_reference
import pytest
import typer
from pages import ROOT

from hemiola.cli import COMMANDS, make_app

#: Of a line of public_names.txt: the full name of what is defined there.
NAME = re.compile(r"\s*(?:class |static )?([\w.]+)")
ELSEWHERE = re.compile(r": module$|^[\w.]+ = | is hemiola\.")
#: What a browser fetches for a page, from another host.
FETCHED = re.compile(
    r"""<(?:script|img|link rel="(?:stylesheet|icon|preconnect)")[^>]*(?:src|href)="(?:https?:)?//"""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; the first of several workers of a run builds it for all."""
    folder = tmp_path_factory.getbasetemp()
    shared = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    with (shared / "site").open("a+") as told:
        fcntl.flock(told, fcntl.LOCK_EX)
        if not told.tell():
            build()
            told.write("built")
    return ROOT / "build/docs/site"


def build() -> None:
    subprocess.run(
        [sys.executable, str(ROOT / "scripts/site_pages.py"), "build/docs/pages"], cwd=ROOT, check=True
    )
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert "WARNING" not in built.stderr, built.stderr
    assert built.returncode == 0, built.stderr


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

    assert [str(page) for page, text in pages.items() if FETCHED.search(text)] == []
    index = (site / "search/search_index.js").read_text()  # a script, which a page may load from a folder
    assert "hemiola.Plan.explain" in index


def test_links_of_the_built_pages_lead_to_files_and_anchors(site: Path) -> None:
    pages = {
        page: page.read_text() for page in site.rglob("*.html") if page.name != "404.html"
    }  # a server's page
    anchors = {page: set(re.findall(r'\b(?:id|name)="([^"]+)"', text)) for page, text in pages.items()}
    dead, count = [], 0
    for page, text in pages.items():
        for target in set(re.findall(r'\b(?:href|src)="(?![a-z]+:)([^"]*)"', text)):
            name, _, anchor = unquote(html.unescape(target)).partition("#")
            there = (page.parent / name).resolve() if name else page
            count += 1
            if not there.exists() or (anchor and anchor not in anchors.get(there, set())):
                dead.append(f"{page.relative_to(site)}: {target}")
    assert count > 1000
    assert dead == []


def test_the_site_has_the_help_of_every_command(site: Path) -> None:
    sections = re.split(r'<h2 id="[^"]*">', (site / "docs/reference/cli.html").read_text())[1:]
    shown = {re.match(r"[\w -]+", section)[0]: html.unescape(section) for section in sections}  # type: ignore[index]
    commands = dict(cli_reference.commands(typer.main.get_command(make_app()), "hemiola"))
    assert shown.keys() == commands.keys()
    assert {name.split()[1] for name in commands} == set(COMMANDS)
    for name, command in commands.items():
        text = re.sub(r"<[^>]*>", "", shown[name])
        spelled = [
            one for parameter in command.params for one in (*parameter.opts, *parameter.secondary_opts)
        ]
        assert [one for one in spelled if one.startswith("-") and one not in text] == [], name
        assert " ".join(command.help.split())[:60] in " ".join(text.split()), name


def test_the_site_has_every_json_schema_and_every_file_that_pages_link_to(site: Path) -> None:
    kept = {path.name for path in (ROOT / "docs/reference/json").iterdir()}
    page = (ROOT / "docs/reference/json.md").read_text()
    assert sorted(re.findall(r"\]\(json/([\w-]+\.json)\)", page)) == sorted(kept)
    assert {path.name for path in (site / "docs/reference/json").glob("*.json")} == kept
    assert (site / "examples/own_algorithm.ipynb").exists()
