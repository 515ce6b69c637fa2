"""The files that pictures are written to."""

from __future__ import annotations

from pathlib import Path

from hemiola.errors import ArgumentError

_SUFFIXES = (".png", ".svg", ".pdf")


def check_suffix(path: str | Path) -> Path:
    """Return the path if its suffix names a format we write; raise ArgumentError otherwise."""
    path = Path(path)
    if path.suffix.lower() not in _SUFFIXES:
        raise ArgumentError(f"expected a picture file ending in {', '.join(_SUFFIXES)}, found '{path}'")
    return path
