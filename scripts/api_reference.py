# SPDX-License-Identifier: Apache-2.0
"""Writes docs/reference/api, a page for each public module, for scripts/generate.py; and docstrings as Markdown."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import public_names
from prose import SECTION
from public_names import Entry

_ITEMS = ("Parameters", "Returns", "Yields", "Raises", "Warns", "Attributes")
#: An item of a section: a line that is not indented, and the indented lines after it.
_ITEM = re.compile(r"^(\S.*)\n?((?:(?: +.*|)\n?)*)", re.M)
#: A table of reStructuredText, between its lines of equals signs.
_TABLE = re.compile(r"^=+(?: +=+)+\n(?:.+\n)+?=+(?: +=+)+\n(?:.+\n)+?=+(?: +=+)+\n", re.M)

#: Of a module, a constant, and a name that another module has.
_ELSEWHERE = re.compile(r": module$|^[\w.]+ = | is hemiola\.")


def pages(stubs: Mapping[Path, str]) -> dict[str, str]:
    """Return every page by its file's name; the core's docstrings are read from these stubs."""
    doors = public_names.doors(stubs)
    found = {f"{door}.md": page(door, entries) for door, entries in doors.items()}
    return found | {"README.md": index(doors)}


def index(doors: Mapping[str, list[Entry]]) -> str:
    """Return the list of all modules with their names."""
    lines = ["# The API", "", "Generated from the docstrings (`make generate`); do not edit.", ""]
    lines += ["| module | names |", "|---|---|"]
    for door, entries in doors.items():
        names = [_name(each.line) for each in entries if each.line[0] != " "]
        lines.append(f"| [{door}]({door}.md) | {', '.join(f'`{name}`' for name in names)} |")
    return "\n".join([*lines, ""])


def page(door: str, entries: list[Entry]) -> str:
    """Return the page of a module: a line for each name defined elsewhere, a directive for each other one."""
    lines = [
        f"# {door}",
        "",
        "<!-- Generated (make generate). The site (make docs) has the docstrings here. -->",
        "",
    ]
    own = [each.line for each in entries if each.line[0] != " "]
    lines += [f"- `{line}`" for line in own if _ELSEWHERE.search(line)]
    lines += [
        f"\n::: {door}.{name}"
        for name in dict.fromkeys(_name(line) for line in own if not _ELSEWHERE.search(line))
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def rendered(docstring: str) -> Iterator[str]:
    """Yield the lines of a docstring as Markdown: sections begin with their title, and have a list of their items."""
    fenced = _TABLE.sub("```text\n\\g<0>```\n", inspect.cleandoc(docstring) + "\n")
    first, *sections = SECTION.split(fenced)
    yield first.strip("\n")
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        yield f"\n**{title}**\n"
        if title == "Examples":
            yield f"```python\n{body.strip(chr(10))}\n```"
        elif title in _ITEMS:
            for head, rest in _ITEM.findall(body.strip("\n") + "\n"):
                text = " ".join(rest.split())
                yield f"- {head}{' ' if text else ''}{text}"
        else:
            yield body.strip("\n")


def _name(line: str) -> str:
    """Return the name that a line of the public names begins with, without its module or class."""
    full = re.match(r"(?:class |static )?([\w.]+)", line.strip())
    assert full, line
    return full[1].rpartition(".")[2]
