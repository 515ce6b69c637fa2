# SPDX-License-Identifier: Apache-2.0
"""The sentences in sources beside docstrings: comments, errors, and the help of commands."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pages

_NO_PROSE = re.compile(
    r"[#/<!: ]*(?:noqa|type:|pragma|ruff|fmt:|mypy|NOLINT|clang-format|/usr/bin|SPDX-|----)"
)
_CPP_COMMENT = re.compile(r"""^((?:[^"'/]|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|/(?!/))*?)//+[<!]* ?(.*)$""")
_CPP_LITERAL = re.compile(r'"((?:\\.|[^"\\\n])*)"')
_CPP_JOINT = re.compile(r'"\s*\n\s*"')  # a literal that goes on in the next line
_CPP_THROW = re.compile(r"\bthrow [^;{]*?\((.*?)\);", re.S)


def comments(path: Path) -> list[str]:
    """Return the sentences of a source's comments; comments on lines that follow each other are one paragraph."""
    lines = _python_comments(path) if path.suffix == ".py" else _cpp_comments(path)
    paragraphs: list[list[str]] = []
    last, column = -1, -1
    for line, begin, text in lines:
        if _NO_PROSE.match(text):
            continue
        if (line, begin) != (last + 1, column):
            paragraphs.append([])
        paragraphs[-1].append(text)
        last, column = line, begin
    return [each for lines in paragraphs for each in pages.sentences("\n".join(lines))]


def messages(path: Path) -> list[str]:
    """Return the sentences of the errors that a source raises and of the help that its commands print."""
    found = _python_messages(path) if path.suffix == ".py" else _cpp_messages(path)
    return [each for text in found for each in pages.sentences(re.sub(r"\s+", " ", text))]


def _python_comments(path: Path) -> Iterator[tuple[int, int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        if token.type == tokenize.COMMENT:
            is_alone = not token.line[: token.start[1]].strip()
            yield token.start[0], token.start[1] if is_alone else -token.start[0], token.string.lstrip("#: ")


def _cpp_comments(path: Path) -> Iterator[tuple[int, int, str]]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        if comment := _CPP_COMMENT.match(line):
            is_alone = not comment[1].strip()
            yield number, len(comment[1]) if is_alone else -number, comment[2]


def _python_messages(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            yield from (text for each in node.exc.args[:1] if (text := _text(each)))
        elif isinstance(node, ast.keyword) and node.arg == "help" and (text := _text(node.value)):
            yield text


def _text(node: ast.expr) -> str:
    """Return a string's text, with CODE for each value in it; nothing where it is made elsewhere."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(each) if isinstance(each, ast.Constant) else pages.CODE for each in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return (_text(node.left) or pages.CODE) + (_text(node.right) or pages.CODE)
    return ""


def _cpp_messages(path: Path) -> Iterator[str]:
    for thrown in _CPP_THROW.finditer(path.read_text(encoding="utf-8")):
        parts = re.split(r"\s*\+\s*", _CPP_JOINT.sub("", thrown[1]))
        literals = [_CPP_LITERAL.fullmatch(part) for part in parts]
        if any(literals):
            yield "".join(each[1].replace('\\"', '"') if each else pages.CODE for each in literals)
