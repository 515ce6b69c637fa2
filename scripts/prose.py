# SPDX-License-Identifier: Apache-2.0
"""How plain the words of README, the docs and the sources are. A text is a page, or a room's docstrings, comments, or
messages (errors and help).

`python scripts/prose.py` prints every text's figures, and with a text's name the sentences to mend."""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import statistics
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from functools import cache
from pathlib import Path

import pages
import source_words
from pages import ROOT

MOST_WORDS = 40
_VERBS = (
    "agree[sd]?|ask(?:s|ed)?|choos(?:e|es|ing)|decid(?:e|es|ed)|explain(?:s|ed)?|find(?:s|ing)?|found|is|are|was"
    "|know(?:s|n)?|learn(?:s|ed|t)?|list(?:s|ed)?|names?|named|print(?:s|ed)?|say(?:s|ing)?|said|see(?:s|n)?"
    "|show(?:s|n)?|tell(?:s|ing)?|told"
)
_PREPOSITIONS = (
    "about|after|against|as|at|before|beside|but|by|for|from|in|into|of|on|over|past|than|to|towards?"
    "|with|without"
)
#: "Who" and "where" also follow a noun that they describe ("hosts where ..."): they count behind other words.
FREE_RELATIVE = re.compile(
    rf"\bwhat\b|\bwhat-?ever\b|\bwho(?:m|so)?ever\b|\bwhichever\b|\bwherever\b"
    rf"|(?:^|[:;(–] ?|\b(?:{_VERBS}|{_PREPOSITIONS}|and|or|that|not) )who(?:m|se)?\b"
    rf"|\b(?:{_VERBS}|{_PREPOSITIONS}) where\b",
    re.IGNORECASE,
)
_JOINED = re.compile(rf"\b(?:{_PREPOSITIONS}) who(?:m|se)\b", re.IGNORECASE)  # "ranks to whom it sends"
SECTION = re.compile(
    r"^(Parameters|Returns|Yields|Raises|Warns|Attributes|Notes|Examples|See Also)\n-{4,}$", re.M
)
_TERM = re.compile(r"^`?[\w*]+(?:, [\w*]+)*`? : ", re.M)


@dataclass(frozen=True)
class Figures:
    """A text's median of words a sentence, its sentences of more than 40 words, and its free relatives."""

    median: int
    long: int
    relatives: int

    def exceeds(self, other: Figures) -> bool:
        return any(mine > theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True))


@dataclass(frozen=True)
class Text:
    """The sentences of a page, or of one kind in the sources of a room."""

    name: str
    sentences: tuple[str, ...]

    @property
    def figures(self) -> Figures:
        lengths = [word_count(each) for each in self.sentences]
        relatives = sum(len(free_relatives(each)) for each in self.sentences)
        return Figures(round(statistics.median(lengths)), len(self.long), relatives)

    @property
    def long(self) -> list[str]:
        return [each for each in self.sentences if word_count(each) > MOST_WORDS]

    @property
    def bounds(self) -> Figures:
        """The most that a plain text has: a short one may have one free relative, and no long sentence."""
        words = sum(word_count(each) for each in self.sentences)
        return Figures(15, len(self.sentences) // 100, max(1, words * 4 // 1000))

    @property
    def is_plain(self) -> bool:
        return not self.figures.exceeds(self.bounds)


def word_count(sentence: str) -> int:
    """Count what stands between spaces and has a letter or a digit."""
    return len(re.findall(r"\S*\w\S*", sentence))


def free_relatives(sentence: str) -> list[str]:
    """Return the clauses that stand for a noun, by the words that begin them."""
    if sentence.endswith("?"):
        return []
    return [each[0] for each in FREE_RELATIVE.finditer(_JOINED.sub("", sentence))]


@cache
def texts() -> dict[str, Text]:
    """Return every text that has a sentence, by name. The pages of the API are the docstrings, which count already."""
    found = {
        str(page.relative_to(ROOT)): pages.sentences(page.read_text(encoding="utf-8"))
        for page in pages.docs()
        if page.parent != ROOT / "docs/reference/api"
    }
    for path in sorted([*(ROOT / "python").rglob("*.py*"), *(ROOT / "papers").rglob("*.py")]):
        if path.suffix in (".py", ".pyi") and "tests" not in path.parts:
            room = found.setdefault(room_of(path), [])
            room += [each for doc in docstrings(path) for each in pages.sentences(as_markdown(doc))]
    for path in sorted([*(ROOT / "python").rglob("*.py"), *(ROOT / "src").rglob("*.[ch]pp")]):
        found.setdefault(f"{room_of(path)}: comments", []).extend(source_words.comments(path))
        found.setdefault(f"{room_of(path)}: messages", []).extend(source_words.messages(path))
    return {name: Text(name, tuple(each)) for name, each in sorted(found.items()) if each}


def room_of(path: Path) -> str:
    """Return the folder of the package or of src/hemiola that a source belongs to; the papers are one."""
    parts = path.relative_to(ROOT).parts
    return "papers" if parts[0] == "papers" else "/".join(parts[: 3 if len(parts) > 3 else 2])


def docstrings(path: Path) -> Iterator[str]:
    """Yield the docstrings of a module and of everything public in it."""
    module = ast.parse(path.read_text(encoding="utf-8"))
    todo: list[ast.Module | ast.ClassDef | ast.FunctionDef] = [module]
    while todo:
        node = todo.pop()
        if doc := ast.get_docstring(node):
            yield doc
        if not isinstance(node, ast.FunctionDef):
            todo += [
                each
                for each in node.body
                if isinstance(each, ast.ClassDef | ast.FunctionDef) and not each.name.startswith("_")
            ]


def as_markdown(docstring: str) -> str:
    """Return a docstring as Markdown: a paragraph for each parameter, without its name, and no titles nor examples."""
    first, *sections = SECTION.split(inspect.cleandoc(docstring))
    kept = [_TERM.sub("\n", first)]
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        if title in ("Notes", "See Also"):
            kept.append(body)
        elif title != "Examples":
            terms = re.sub(
                r"\n +(?=[A-Z])|\n(?=\S)", "\n\n", body
            )  # numpydoc's description begins a line of its own
            kept.append(_TERM.sub("", terms))
    return "\n\n".join(re.sub(r"^ *>>>.*\n(?:.+\n?)*", "", each + "\n", flags=re.M) for each in kept)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="?", help="print the sentences to mend of this text")
    only = parser.parse_args().text
    for name, text in texts().items():
        if only in (None, name):
            print(
                name,
                *astuple(text.figures),
                "plain" if text.is_plain else f"(at most {astuple(text.bounds)})",
            )
    if only:
        for sentence in texts()[only].sentences:
            count, found = word_count(sentence), free_relatives(sentence)
            if count > MOST_WORDS or found:
                print(f"\n{count} words {found or ''}\n  {sentence}")


if __name__ == "__main__":
    main()
