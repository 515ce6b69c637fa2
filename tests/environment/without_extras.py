# SPDX-License-Identifier: Apache-2.0
"""Imports every module of Hemiola where packages of its extras are hidden, and prints what went wrong, as JSON.

    python without_extras.py torch google,ray "" …

Each argument names packages that are hidden together, from a process of its own. These are forks of one process that
has imported all those packages, which takes far longer than to import Hemiola."""

from __future__ import annotations

import importlib
import importlib.util
import json
import multiprocessing
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
    for name in [name for name in sys.modules if name.partition(".")[0] in packages]:
        del sys.modules[name]


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


def failures_without(packages: Sequence[str]) -> dict[str, Any]:
    """Hide packages; return how many modules there are, and how each that failed did."""
    hide(packages)
    return {"imported": len(modules()), "failed": failures()}


def main(sets: Sequence[Sequence[str]]) -> None:
    """Print what fails without each set."""
    for package in {name for names in sets for name in names} - {"jax"}:  # before which hemiola.jax comes
        importlib.import_module(package)
    with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool:
        print(json.dumps(pool.map(failures_without, sets, chunksize=1)))


if __name__ == "__main__":
    main([[name for name in argument.split(",") if name] for argument in sys.argv[1:]])
