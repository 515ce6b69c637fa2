# SPDX-License-Identifier: Apache-2.0
"""The files that pictures are written to."""

from __future__ import annotations

import os
from pathlib import Path

from hemiola.errors import ArgumentError
from hemiola.whole_file import check_whole

_SUFFIXES = (".png", ".svg", ".pdf")


def check_suffix(path: str | Path) -> Path:
    """Return the path if its suffix names a format we write and it can be written; raise ArgumentError otherwise.

    Raise MissingPackageError where no pictures can be drawn, so that a command says so before it begins."""
    from hemiola.environment.packages import require

    require("matplotlib")
    path = Path(path)
    if path.suffix.lower() not in _SUFFIXES:
        raise ArgumentError(f"expected a picture file ending in {', '.join(_SUFFIXES)}, found '{path}'")
    return check_place(path)


def check_place(path: Path) -> Path:
    """Return the path of a file to be written if it can be; raise ArgumentError otherwise, before any work is done."""
    if not os.path.isdir(path.parent):  # False for a name that no file can have, too
        raise ArgumentError(f"'{path}': there is no folder '{path.parent}'; make it first")
    if path.is_dir():
        raise ArgumentError(f"'{path}': expected a file to write, found a folder; name a file in it")
    try:
        check_whole(path)
    except OSError as error:
        raise ArgumentError(
            f"'{path}' cannot be written: {os.strerror(error.errno or 0)}; name another file"
        ) from None
    return path
