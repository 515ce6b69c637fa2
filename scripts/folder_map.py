# SPDX-License-Identifier: Apache-2.0
"""Writes the map in CONTRIBUTING.md from the folders' doors; scripts/generate.py calls it.

A door is what stands at the entry of a folder: the README.md of a C++ folder, tests, benchmarks and scripts, the
docstring of a Python package. Its first sentence goes into the map. Folders stand in the order of their layers, bottom
up."""

import ast
import re
import textwrap
import tomllib
from pathlib import Path

import check_layers

ROOT = Path(__file__).resolve().parent.parent
CORE, PACKAGE = ROOT / "src/hemiola", ROOT / "python/hemiola"
BEGIN, END = (
    "<!-- map: generated from the folders' doors by make generate -->\n```text\n",
    "```\n<!-- end of the map -->\n",
)
INDENT, WIDTH = 24, 120


def text() -> str:
    """Return CONTRIBUTING.md with a map of the folders as they are."""
    page = (ROOT / "CONTRIBUTING.md").read_text()
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}{_map()}{END}{after}"


def _map() -> str:
    lines = [_line("src/hemiola/", _sentence_of(CORE))]
    lines += [
        _line(f"  {name}/", _sentence_of(CORE / name))
        for name in check_layers.LAYERS
        if (CORE / name).is_dir()
    ]
    lines += [_line("python/hemiola/", _sentence_of(PACKAGE))]
    lines += [_line(f"  {name}", _sentence_of(PACKAGE / name)) for name in _rooms()]
    lines += [
        _line(f"{name}/", _sentence_of(ROOT / name))
        for name in ("papers", "tests", "benchmarks", "docs", "scripts", "packaging", "third_party")
    ]
    return "".join(lines)


def python_layers() -> list[str]:
    """Return the modules and packages of hemiola, bottom up, as pyproject.toml orders them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = next(contract["layers"] for contract in settings["contracts"] if contract["type"] == "layers")
    return [name for layer in reversed(layers) for name in re.findall(r"\w+", layer)]


def _rooms() -> list[str]:
    return [f"{name}/" if (PACKAGE / name).is_dir() else f"{name}.py" for name in python_layers()]


def _sentence_of(folder: Path) -> str:
    """Return the first sentence at the door of a folder, or of a module."""
    if folder.suffix == ".py":
        return _first_sentence(ast.get_docstring(ast.parse(folder.read_text())) or "", folder)
    package = folder / "__init__.py"
    if package.exists():
        return _sentence_of(package)
    door = folder / "README.md"
    return _first_sentence(door.read_text().partition("\n")[2] if door.exists() else "", door)


def _first_sentence(prose: str, where: Path) -> str:
    words = " ".join(prose.strip().split("\n\n")[0].split())
    if not words:
        raise LookupError(
            f"{where.relative_to(ROOT)}: expected a sentence that says what the folder is, found none"
        )
    return re.split(r"(?<=[.!?])(?=\s|$)", words)[0].rstrip(".")


def _line(name: str, sentence: str) -> str:
    prose = textwrap.wrap(
        sentence if sentence[:2].isupper() else sentence[0].lower() + sentence[1:], WIDTH - INDENT
    )
    return "".join(f"{name if row == 0 else '':<{INDENT - 1}} {line}\n" for row, line in enumerate(prose))
