# SPDX-License-Identifier: Apache-2.0
"""Examples in docstrings, which the site shows too, print what they say."""

from __future__ import annotations

import doctest
from pathlib import Path

import prose
import pytest
from pages import ROOT

SOURCES = [
    path
    for pattern in ("*.py", "*.pyi")
    for path in sorted((ROOT / "python/hemiola").rglob(pattern))
    if ">>> " in path.read_text(encoding="utf-8")
]


def failures(docstring: str, name: str) -> str:
    """Run a docstring's examples, but for those marked `# doctest: +SKIP`, and return the report of failed ones."""
    said: list[str] = []
    test = doctest.DocTestParser().get_doctest(docstring, {}, name, name, 0)
    doctest.DocTestRunner().run(test, out=said.append)
    return "".join(said)


def test_an_example_that_prints_something_else_is_found() -> None:
    assert failures(">>> 1 + 1\n2\n", "right") == ""
    assert "Expected:\n    3" in failures(">>> 1 + 1\n3\n", "wrong")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT / "python")))
def test_the_examples_of_a_source_print_what_they_say(path: Path) -> None:
    assert [report for text in prose.docstrings(path) if (report := failures(text, path.name))] == []
