# SPDX-License-Identifier: Apache-2.0
"""The Markdown of the docs as markdown-it reads it: sentences, links, headings, and the paths in backticks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[1]
CODE = "CODE"  # stands for inline code, which counts as one word
_MARKDOWN = MarkdownIt("commonmark").enable("table")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|vs|cf|resp|Fig|Eq|No|al)\.$")
_END = re.compile(r"[.!?][)\]\"'*]*\s+(?=[\"'(\[*]*[A-Z0-9])")


def docs() -> list[Path]:
    """Return README, the other pages at the root, and everything under docs/."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def sentences(markdown: str) -> list[str]:
    """Return the sentences outside of code, tables and headings; one or two words are none."""
    return [each for paragraph in _paragraphs(markdown) for each in split(paragraph) if each.count(" ") > 1]


def split(paragraph: str) -> list[str]:
    """Cut a paragraph after each full stop that ends a sentence."""
    found, begin = [], 0
    for end in _END.finditer(paragraph):
        if not _ABBREVIATION.search(paragraph[begin : end.start() + 1]):
            found.append(paragraph[begin : end.end()].strip())
            begin = end.end()
    found.append(paragraph[begin:].strip())
    return found


def headings(markdown: str) -> set[str]:
    """Return the anchors of a page, made of its headings as GitHub makes them."""
    seen: Counter[str] = Counter()
    anchors = set()
    for before, token in pairwise(_MARKDOWN.parse(markdown)):
        if before.type == "heading_open":
            words = "".join(t.content for t in token.children or [])
            anchor = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            anchors.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
            seen[anchor] += 1
    return anchors


def links(markdown: str) -> Iterator[str]:
    """Yield the targets of links and pictures."""
    for token in _inline(markdown):
        if target := token.attrs.get("href") or token.attrs.get("src"):
            yield str(target)


def pictures(markdown: str) -> Iterator[str]:
    """Yield the files of pictures."""
    return (str(token.attrs["src"]) for token in _inline(markdown) if token.type == "image")


def code_blocks(markdown: str) -> Iterator[Token]:
    """Yield the fenced and the indented blocks of code."""
    return (token for token in _MARKDOWN.parse(markdown) if token.type in ("fence", "code_block"))


def code(markdown: str) -> Iterator[str]:
    """Yield the texts in backticks."""
    return (token.content for token in _inline(markdown) if token.type == "code_inline")


def _inline(markdown: str) -> Iterator[Token]:
    for token in _MARKDOWN.parse(markdown):
        yield from token.children or []


def _paragraphs(markdown: str) -> Iterator[str]:
    for before, token in pairwise(_MARKDOWN.parse(markdown)):
        if before.type == "paragraph_open":
            yield "".join(_word(child) for child in token.children or [])


def _word(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return " "
    return {"text": token.content, "code_inline": CODE}.get(token.type, "")
