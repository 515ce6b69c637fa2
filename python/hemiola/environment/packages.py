# SPDX-License-Identifier: Apache-2.0
"""Packages of PyPI that are not always there: those of Hemiola's extras, and libraries that the core opens itself."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hemiola.errors import MissingPackageError

#: The extra that brings each package which some part of Hemiola needs and the rest does not.
EXTRAS = {
    "matplotlib": "pictures",
    "networkx": "networkx",
    "prometheus_client": "prometheus",
    "sklearn": "demo",
    "threadpoolctl": "demo",
    "torch": "torch",
    "triton": "triton",
}


def require(package: str) -> None:
    """Raise MissingPackageError, which names the extra, unless the package is there."""
    if find_spec(package) is None:
        raise MissingPackageError(
            f"the package {package} is not installed here; pip install 'hemiola[{EXTRAS[package]}]'"
        )


def optional(module: str) -> Any:
    """Import a module of a package that an extra brings; raise MissingPackageError where that is missing."""
    require(module.partition(".")[0])
    return importlib.import_module(module)


def ucx_libraries() -> list[str]:
    """Return the paths of the UCX that a package (libucx-cu12, libucx-cu13) has installed, if there is any."""
    spec = find_spec("libucx")
    folders = (spec.submodule_search_locations if spec else None) or []
    return [str(path) for folder in folders if (path := Path(folder) / "lib" / "libucp.so.0").exists()]
