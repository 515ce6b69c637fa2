"""Libraries that packages of PyPI bring, which the core opens at run time."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def ucx_libraries() -> list[str]:
    """Return the paths of the UCX that a package (libucx-cu12, libucx-cu13) has installed, if there is any."""
    spec = find_spec("libucx")
    folders = (spec.submodule_search_locations if spec else None) or []
    return [str(path) for folder in folders if (path := Path(folder) / "lib" / "libucp.so.0").exists()]
