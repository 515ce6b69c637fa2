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
    "distributed": "dask",
    "google": "traces",
    "jax": "jax",
    "lightgbm": "lightgbm",
    "matplotlib": "pictures",
    "networkx": "networkx",
    "prometheus_client": "prometheus",
    "ray": "ray",
    "sklearn": "demo",
    "threadpoolctl": "demo",
    "torch": "torch",
    "triton": "triton",
}
#: Packages that share their name with others' parts, by the name on PyPI.
_CALLED = {"google": "protobuf"}


def require(package: str) -> None:
    """Raise MissingPackageError, which names the extra, unless the package is there."""
    if find_spec(package) is None:
        raise _missing(package)


def _missing(package: str) -> MissingPackageError:
    name = _CALLED.get(package, package)
    return MissingPackageError(
        f"the package {name} is not installed here; pip install 'hemiola[{EXTRAS[package]}]'"
    )


def optional(module: str) -> Any:
    """Import a module of a package that an extra brings; raise MissingPackageError where that is missing."""
    package = module.partition(".")[0]
    require(package)
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if package in _CALLED and (error.name or "").startswith(
            package
        ):  # another package of that name is there
            raise _missing(package) from None
        raise


def ucx_libraries() -> list[str]:
    """Return the paths of the UCX that a package (libucx-cu12, libucx-cu13) has installed, if there is any."""
    spec = find_spec("libucx")
    folders = (spec.submodule_search_locations if spec else None) or []
    return [str(path) for folder in folders if (path := Path(folder) / "lib" / "libucp.so.0").exists()]
