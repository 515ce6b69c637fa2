# SPDX-License-Identifier: Apache-2.0
"""Imports every module of Hemiola where packages of its extras are hidden, and prints what went wrong, as JSON."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any


class Hiding:
    """A finder of the import system that does not find some packages."""

    def __init__(self, finder: Any, hidden: Sequence[str]) -> None:
        self._finder, self._hidden = finder, hidden

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        found = None if name.partition(".")[0] in self._hidden else self._finder.find_spec(name, path, target)
        return found if isinstance(found, ModuleSpec) else None

    def __getattr__(self, name: str) -> Any:
        """Leave to the finder what it has else: where packages' metadata are."""
        return getattr(self._finder, name)


def hide(packages: Sequence[str]) -> None:
    """Make this process one in which the packages are not installed."""
    sys.meta_path[:] = [Hiding(finder, packages) for finder in sys.meta_path]  # type: ignore[misc]


def modules() -> list[str]:
    """Return the names of all modules of the package, as it is installed here."""
    spec = importlib.util.find_spec("hemiola")
    assert spec is not None
    assert spec.origin is not None
    root = Path(spec.origin).parent
    files = [path.relative_to(root.parent) for path in root.rglob("*.py")]
    names = [".".join(path.with_suffix("").parts) for path in files]
    return sorted(name.removesuffix(".__init__") for name in names if not name.endswith("__main__"))


def failures() -> dict[str, str]:
    """Import every module; return how it failed, by its name."""
    failed = {}
    for name in modules():
        try:
            importlib.import_module(name)
        except Exception as error:  # whatever it is, the test shows it
            failed[name] = f"{type(error).__name__}: {error}"
    return failed


def name_the_missing(packages: Sequence[str]) -> None:
    """Be a rank of a job that needs packages which are not there."""
    hide(packages)
    from hemiola.demo.training import Digits

    Digits.load()


if __name__ == "__main__":
    hide(sys.argv[1:])
    print(json.dumps({"imported": len(modules()), "failed": failures()}))
