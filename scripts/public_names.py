# SPDX-License-Identifier: Apache-2.0
"""Writes docs/reference/public_names.txt, every public name of the package with its signature, for scripts/generate.py.

Read from the sources and the core's stubs, not from running objects, so that a signature stands as it was written."""

import ast
import importlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, NamedTuple, get_origin

PACKAGE = Path(__file__).resolve().parent.parent / "python" / "hemiola"

#: The words of the package, then the rooms that have a door of their own.
DOORS = (
    "hemiola",
    "hemiola.algorithms",
    "hemiola.codecs",
    "hemiola.communicator",
    "hemiola.conditions",
    "hemiola.doctor",
    "hemiola.errors",
    "hemiola.export",
    "hemiola.interchange",
    "hemiola.planner",
    "hemiola.synthesis",
    "hemiola.synthesis.optimal",
    "hemiola.topologies",
    "hemiola.units",
    "hemiola.workload",
)


#: A module's name to its source, or to its stub where it is compiled.
Sources = Callable[[str], ast.Module]


class Entry(NamedTuple):
    """The line of a public name, and its docstring."""

    line: str
    docstring: str = ""


def text(stubs: Mapping[Path, str]) -> str:
    """Return the whole list; the core's names are read from these stubs."""
    lines = [line for found in doors(stubs).values() for line in ("", *(entry.line for entry in found))]
    return "\n".join(
        ["# Generated (make generate): what people may rely on, and how it is called.", *lines, ""]
    )


def doors(stubs: Mapping[Path, str]) -> dict[str, list[Entry]]:
    """Return what each door has; the core's names are read from these stubs."""
    trees: dict[str, ast.Module] = {}

    def source_of(module: str) -> ast.Module:
        if module not in trees:
            trees[module] = ast.parse(_source(module, stubs))
        return trees[module]

    return {door: list(_door(importlib.import_module(door), source_of)) for door in DOORS}


def _door(module: ModuleType, source_of: Sources) -> Iterator[Entry]:
    for name in _names(module):
        value = getattr(module, name)
        full = f"{module.__name__}.{name}"
        if isinstance(value, ModuleType):
            yield Entry(f"{full}: module")
        elif not hasattr(value, "__qualname__") or get_origin(value) is Literal:
            yield Entry(f"{full} = {value!r}")
        elif (
            module.__name__ != "hemiola" and getattr(importlib.import_module("hemiola"), name, None) is value
        ):
            yield Entry(f"{full} is hemiola.{name}")
        else:
            yield from _described(full, value, source_of)


def _names(module: ModuleType) -> list[str]:
    """Return what a door says is public, or the classes that it defines."""
    own = [
        name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__
    ]
    return sorted(getattr(module, "__all__", [name for name in own if not name.startswith("_")]))


def _described(full: str, value: Any, source_of: Sources) -> Iterator[Entry]:
    """Yield a class's line and those of its members, or a function's, one for each overload."""
    if isinstance(value, type):
        yield from _class(full, value, source_of)
    else:
        for node in _definitions(value, source_of):
            assert isinstance(node, ast.FunctionDef)
            yield Entry(f"{full}{_signature(node)}", ast.get_docstring(node) or "")


def _class(full: str, value: type, source_of: Sources) -> Iterator[Entry]:
    """Yield what a class and the package's own classes that it is made of have; the nearest one counts."""
    seen: set[str] = set()
    for base in value.__mro__:
        if base.__module__.partition(".")[0] != "hemiola":
            continue
        (node,) = _definitions(base, source_of)
        assert isinstance(node, ast.ClassDef)
        if base is value:
            bases = ", ".join(map(ast.unparse, node.bases))
            line = f"class {full}({bases})" if bases else f"class {full}"
            yield Entry(line, ast.get_docstring(node) or "")
        members = [
            (_name_of(member), entry)
            for member in _without_overloads(node.body)
            for entry in _member(full, member)
        ]
        yield from (entry for name, entry in members if name not in seen)
        seen |= {name for name, _ in members}


def _without_overloads(body: list[ast.stmt]) -> list[ast.stmt]:
    """Leave out overloads where the definition follows, as in sources: it has all parameters."""
    functions = [node for node in body if isinstance(node, ast.FunctionDef)]
    overloads = [node for node in functions if "overload" in map(ast.unparse, node.decorator_list)]
    defined = {node.name for node in functions if node not in overloads}
    return [node for node in body if node not in overloads or node.name not in defined]


def _definitions(value: Any, source_of: Sources) -> list[ast.stmt]:
    """Return where a class or function is defined: one place, or one for each overload."""
    body = source_of(value.__module__).body
    found = [node for node in body if getattr(node, "name", "") == value.__qualname__]
    if not found:
        raise LookupError(f"{value.__qualname__} is not defined in {value.__module__}")
    return found


def _name_of(member: ast.stmt) -> str:
    return ast.unparse(member.target) if isinstance(member, ast.AnnAssign) else getattr(member, "name", "")


def _member(owner: str, node: ast.stmt) -> Iterator[Entry]:
    """Yield the line of a method, property or field; private and inherited ones have none."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        if not node.target.id.startswith("_"):
            value = f" = {ast.unparse(node.value)}" if node.value else ""
            yield Entry(f"    {owner}.{node.target.id}: {ast.unparse(node.annotation)}{value}")
    elif isinstance(node, ast.FunctionDef) and (node.name == "__init__" or not node.name.startswith("_")):
        kinds = {ast.unparse(decorator) for decorator in node.decorator_list}
        docstring = ast.get_docstring(node) or ""
        if kinds & {"property", "cached_property"}:
            returns = ast.unparse(node.returns) if node.returns else "Any"
            yield Entry(f"    {owner}.{node.name}: {returns}", docstring)
        else:
            static = "static " if kinds & {"staticmethod", "classmethod"} else ""
            yield Entry(f"    {static}{owner}.{node.name}{_signature(node)}", docstring)


def _signature(node: ast.FunctionDef) -> str:
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"({ast.unparse(node.args)}){returns}"


def _source(module: str, stubs: Mapping[Path, str]) -> str:
    stem = PACKAGE.joinpath(*module.split(".")[1:])
    for stub in (stem.with_suffix(".pyi"), stem / "__init__.pyi"):
        if stub in stubs:
            return stubs[stub]
    path = stem / "__init__.py" if stem.is_dir() else stem.with_suffix(".py")
    return path.read_text()
