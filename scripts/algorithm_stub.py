# SPDX-License-Identifier: Apache-2.0
"""Writes python/hemiola/algorithms/__init__.pyi, which tells type checkers what the registry makes the package export;
scripts/generate.py calls it."""

import importlib
from collections import defaultdict

DOCSTRING = '"""Generated (make generate): what hemiola.algorithms exports, by the registry."""'


def text() -> str:
    """Return the stub: every public name from where it is defined."""
    package = importlib.import_module("hemiola.algorithms")
    by_module: dict[str, list[str]] = defaultdict(list)
    for name in package.__all__:
        by_module[getattr(package, name).__module__].append(name)
    imports = [
        f"from {module} import (\n" + "".join(f"    {name} as {name},\n" for name in sorted(found)) + ")"
        for module, found in sorted(by_module.items())
    ]
    return "\n".join([DOCSTRING, "", *imports, ""])
