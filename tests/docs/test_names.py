# SPDX-License-Identifier: Apache-2.0
"""Names that pages put in code exist: variables of the environment, modules, functions and methods."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path

import pages
import pytest
from pages import ROOT

import hemiola as hm
from hemiola.environment import VARIABLES

#: By the names that the pages give to them.
OBJECTS = {"comm": hm.Communicator, "plan": hm.Plan, "timeline": hm.Timeline, "topology": hm.Topology}
_VARIABLE = re.compile(r"\bHEMIOLA_[A-Z_]+\b")
_OF_C = set(_VARIABLE.findall((ROOT / "src/hemiola/c/hemiola.h").read_text()))
_MODULE = re.compile(r"(?<![\w./-])(?:hm|hemiola)(?!\.h\b)((?:\.[A-Za-z]\w*)+)")
_METHOD = re.compile(rf"\b({'|'.join(OBJECTS)})\.([a-z]\w*)\(")


def unknown(text: str) -> list[str]:
    """Return the names in a page's code that do not exist."""
    code = "\n".join([*pages.code(text), *(token.content for token in pages.code_blocks(text))])
    variables = set(_VARIABLE.findall(code)) - {each.name for each in VARIABLES} - _OF_C
    modules = {f"hemiola{path}" for path in _MODULE.findall(code) if not is_there(f"hemiola{path}")}
    methods = {
        f"{name}.{method}" for name, method in _METHOD.findall(code) if not hasattr(OBJECTS[name], method)
    }
    return sorted(variables | modules | methods)


def is_there(name: str) -> bool:
    """Look a dotted name up; names of hemiola.torch count where there is no PyTorch to import it with."""
    if name.startswith("hemiola.torch") and importlib.util.find_spec("torch") is None:
        return True
    owner, _, last = name.rpartition(".")
    if not owner:
        return name == "hemiola"
    if not is_there(owner):
        return False
    found = hm
    for part in owner.split(".")[1:]:
        found = getattr(found, part)
    try:
        return hasattr(found, last) or bool(importlib.import_module(name))
    except ModuleNotFoundError:
        return False
    except ImportError:
        return True  # hemiola.jax in a process that has imported jax before


def test_a_name_that_does_not_exist_is_found() -> None:
    text = (
        "`HEMIOLA_WIRES`, `hm.init()`, `comm.sum(x)`, `HEMIOLA_WIRE`, `hm.synthesis.forest`, `hm.codecs.no`"
    )
    assert unknown(text) == ["HEMIOLA_WIRES", "comm.sum", "hemiola.codecs.no"]


@pytest.mark.parametrize("page", pages.docs(), ids=lambda page: str(page.relative_to(ROOT)))
def test_the_names_of_a_page_exist(page: Path) -> None:
    assert unknown(page.read_text(encoding="utf-8")) == []
