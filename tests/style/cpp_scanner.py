# SPDX-License-Identifier: Apache-2.0
"""Reads C++ far enough to find functions and types: braces are counted, text and comments are blanked first. No parser:
what it cannot tell apart (macros that open braces) the sources do not use."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_BLANKED = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'"""
    r"""|^[ \t]*\#(?:\\\n|[^\n])*""",
    re.DOTALL | re.MULTILINE,
)
_TYPE = re.compile(
    r"\b(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+(?:alignas\([^)]*\)\s*)?(\w+)[^()=]*$"
)
_NAMESPACE = re.compile(r"\bnamespace(?:\s+([\w:]+))?\s*$")
_BEFORE_BODY = re.compile(
    r"(?:\)|\}|\b(?:const|noexcept|override|final|mutable|try)|->[^()]*|\b(?:&|&&))\s*$"
)
_NAME = re.compile(r"(~?\w+|operator\s*\S+?)\s*\(")


@dataclass(frozen=True)
class Function:
    """A function that has a body: where it starts and how long it is, from its name's line to the closing brace."""

    path: Path
    line: int
    name: str
    line_count: int
    body: str


@dataclass(frozen=True)
class Type:
    """A class, struct, union or enumeration that is defined, with the namespaces and classes around it."""

    path: Path
    line: int
    scope: str
    name: str


@dataclass
class _Scope:
    kind: str  # namespace, type, function, other
    name: str
    start: int
    head: int  # where what it belongs to begins


def blank(text: str) -> str:
    """Return the text with comments, literals and preprocessor lines replaced by spaces; lines stay where they are."""
    return _BLANKED.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def _opened(head: str, inside: str) -> tuple[str, str]:
    """Return what a brace after `head` opens, and its name. `inside` is the kind of the scope around it."""
    if inside in ("function", "other"):
        return "other", ""
    if found := _NAMESPACE.search(head):
        return "namespace", found.group(1) or "<local>"
    if found := _TYPE.search(head):
        return "type", found.group(1)
    if _BEFORE_BODY.search(head) and (found := _NAME.search(head)):
        return "function", found.group(1)
    return "other", ""


def _scopes(text: str) -> Iterator[tuple[_Scope, list[_Scope], int]]:
    """Yield each brace's scope with those around it and where it ends."""
    open_scopes: list[_Scope] = []
    head = 0  # where the current declaration began
    for found in re.finditer(r"[{};]|\b(?:public|private|protected):(?!:)", text):
        token = found.group()
        inside = open_scopes[-1].kind if open_scopes else "namespace"
        if token == "{":
            kind, name = _opened(text[head : found.start()], inside)
            begin = head + len(text[head : found.start()]) - len(text[head : found.start()].lstrip())
            open_scopes.append(_Scope(kind, name, found.start(), begin))
            if kind in ("namespace", "type", "function"):
                head = found.end()
        elif token == "}":
            scope = open_scopes.pop()
            yield scope, open_scopes, found.end()
            if scope.kind != "other":
                head = found.end()
        elif inside not in ("function", "other"):
            head = found.end()


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def functions(path: Path) -> list[Function]:
    """Return the functions that `path` defines, not those local to another."""
    text = blank(path.read_text())
    return [
        Function(
            path,
            _line(text, scope.head),
            scope.name,
            text.count("\n", scope.head, end) + 1,
            text[scope.start : end],
        )
        for scope, _, end in _scopes(text)
        if scope.kind == "function"
    ]


def types(path: Path) -> list[Type]:
    """Return the types that `path` defines outside functions."""
    text = blank(path.read_text())
    return [
        Type(path, _line(text, scope.head), "::".join(s.name for s in around), scope.name)
        for scope, around, _ in _scopes(text)
        if scope.kind == "type" and all(s.kind in ("namespace", "type") for s in around)
    ]
