# SPDX-License-Identifier: Apache-2.0
"""Small changes to a source file that its tests should notice: of Python's syntax tree, and of the tokens of C++."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_OPERATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
}
#: Of C++, as clang-format writes it: operators have spaces around them, templates have none.
_TOKENS = [
    (" < ", " <= "),
    (" <= ", " < "),
    (" > ", " >= "),
    (" >= ", " > "),
    (" == ", " != "),
    (" != ", " == "),
    (" && ", " || "),
    (" || ", " && "),
    (" + ", " - "),
    (" - ", " + "),
    ("return true;", "return false;"),
    ("return false;", "return true;"),
    ("if (", "if (!"),
]


@dataclass(frozen=True)
class Mutation:
    """A change at one place. `name` stays the same while the lines around it move; `text` makes the changed file."""

    name: str
    line: int
    text: Callable[[], str]


def of_python(source: str) -> Iterator[Mutation]:
    """Yield every mutation of a module: comparison, operator, constant, branch, return."""
    tree = ast.parse(source)
    seen: dict[str, int] = {}
    for where, node in _nodes(tree):
        for what, change, undo in _changes(node):
            label = f"{where}: {what}"
            seen[label] = seen.get(label, 0) + 1
            text = partial(_changed, tree, change, undo)
            yield Mutation(f"{label} #{seen[label]}", getattr(node, "lineno", 0), text)


def _changed(tree: ast.Module, change: Callable[[], None], undo: Callable[[], None]) -> str:
    change()
    try:
        return ast.unparse(tree)
    finally:
        undo()


def of_cpp(source: str) -> Iterator[Mutation]:
    """Yield every mutation of a file: comparison, operator, connective, branch, return."""
    lines = source.split("\n")
    seen: dict[str, int] = {}
    for number, line in enumerate(lines):
        code = line.partition("//")[0]
        if '"' in code or code.lstrip().startswith(("#", "template", "///", "static_assert")):
            continue
        for old, new in _TOKENS:
            for found in re.finditer(re.escape(old), code):
                if old == "if (" and not code.rstrip().endswith((") {", ";", ")")):
                    continue
                changed = code[: found.start()] + new + code[found.end() :]
                if old == "if (":
                    changed = _negated(code, found.start())
                if changed:
                    label = f"{code.strip()}: {old.strip()} -> {new.strip()}"
                    seen[label] = seen.get(label, 0) + 1
                    after = [*lines[:number], changed, *lines[number + 1 :]]
                    yield Mutation(f"{label} #{seen[label]}", number + 1, partial("\n".join, after))


def _negated(code: str, start: int) -> str:
    """Return a line whose condition is the opposite, or nothing where it does not end on this line."""
    depth, begin = 0, start + 3
    for place in range(begin, len(code)):
        depth += {"(": 1, ")": -1}.get(code[place], 0)
        if depth == 0:
            inner = code[begin : place + 1]
            return "" if ";" in inner else f"{code[:begin]}(!{inner}){code[place + 1 :]}"
    return ""


def _nodes(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield the nodes that run, each with the name of the function or class around it."""
    left: list[tuple[str, ast.AST]] = [("module", tree)]
    while left:
        where, node = left.pop()
        yield where, node
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            where = node.name if where == "module" else f"{where}.{node.name}"
        left += [(where, child) for child in _children(node)]


def _children(node: ast.AST) -> list[ast.AST]:
    """Return a node's parts, but for annotations, decorators, texts of errors, and what only type checkers read."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert):
        return []
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
        return []
    left_out = {"annotation", "returns", "decorator_list", "type_params"}
    parts: list[ast.AST] = []
    for name, value in ast.iter_fields(node):
        if name not in left_out:
            parts += [
                part for part in (value if isinstance(value, list) else [value]) if isinstance(part, ast.AST)
            ]
    return parts[::-1]


Change = tuple[str, Callable[[], None], Callable[[], None]]


def _changes(node: ast.AST) -> Iterator[Change]:
    """Yield what may be changed at a node: in words, and how to do and undo it."""
    match node:
        case ast.Compare(ops=[op]) if type(op) in _COMPARED:
            yield _set(node, "ops", [_COMPARED[type(op)]()], f"{type(op).__name__} in {_short(node)}")
        case ast.BinOp(op=op) if type(op) in _OPERATED and not _is_text(node):
            yield _set(node, "op", _OPERATED[type(op)](), f"{type(op).__name__} in {_short(node)}")
        case ast.BoolOp(op=op):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield _set(node, "op", other, f"{type(op).__name__} in {_short(node)}")
        case ast.Constant(value=bool(value)):
            yield _set(node, "value", not value, f"{value}")
        case ast.Constant(value=int(number)) | ast.Constant(value=float(number)):
            yield _set(node, "value", number + 1, f"constant {number}")
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
            yield _set(node, "test", ast.UnaryOp(ast.Not(), test), f"branch on {_short(test)}")
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield _set(node, "value", ast.Constant(None), f"return {_short(value)}")


def _set(node: ast.AST, field: str, value: object, what: str) -> Change:
    old = getattr(node, field)
    return what, lambda: setattr(node, field, value), lambda: setattr(node, field, old)


def _is_text(node: ast.BinOp) -> bool:
    def is_one(part: ast.expr) -> bool:
        return isinstance(part, ast.JoinedStr) or (
            isinstance(part, ast.Constant) and not isinstance(part.value, int | float)
        )

    return is_one(node.left) or is_one(node.right)


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 60 else text[:57] + "..."
