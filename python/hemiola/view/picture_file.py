# SPDX-License-Identifier: Apache-2.0
"""The files that pictures are written to."""

from __future__ import annotations

import os
from pathlib import Path

from hemiola.environment.packages import require
from hemiola.errors import ArgumentError

_SUFFIXES = (".png", ".svg", ".pdf")


def check_suffix(path: str | Path) -> Path:
    """Return the path if its suffix names a format we write and its folder is there; raise ArgumentError otherwise.

    Raise MissingPackageError where no pictures can be drawn, so that a command says so before it begins."""
    require("matplotlib")
    path = Path(path)
    if path.suffix.lower() not in _SUFFIXES:
        raise ArgumentError(f"expected a picture file ending in {', '.join(_SUFFIXES)}, found '{path}'")
    return in_existing_folder(path)


def in_existing_folder(path: Path) -> Path:
    """Return the path of a file to be written if its folder is there; raise ArgumentError otherwise."""
    if not os.path.isdir(path.parent):  # False for a name that no file can have, too
        raise ArgumentError(f"'{path}': there is no folder '{path.parent}'; make it first")
    return path
