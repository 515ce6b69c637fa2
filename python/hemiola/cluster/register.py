"""Where this user's clusters are found by name: a file each, which the cluster's keeper holds locked while it lives."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hemiola.errors import ArgumentError


def folder() -> Path:
    """Return where the files are, made if it was not there; nobody else may write in it."""
    user = os.geteuid()
    if user == 0:
        path = Path("/run/hemiola/clusters")
    elif runtime := os.environ.get("XDG_RUNTIME_DIR"):
        path = Path(runtime) / "hemiola"
    else:
        path = Path(tempfile.gettempdir()) / f"hemiola-{user}"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = path.stat()
    if found.st_uid != user or found.st_mode & 0o022:
        raise ArgumentError(
            f"cluster: expected '{path}' to be this user's alone; remove it, or set XDG_RUNTIME_DIR"
        )
    return path


def path_of(name: str) -> Path:
    """Return a cluster's file, whether it is there or not."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,40}", name):
        raise ArgumentError(
            f"cluster: expected a name of letters, digits and -_. that begins with one of the former, found {name!r}"
        )
    return folder() / f"{name}.json"


def find(name: str) -> dict[str, Any]:
    """Return what is known of a cluster that is up.

    Raises
    ------
    ArgumentError
        naming those that are, when this one is not.
    """
    state = _state(path_of(name))
    if state is None:
        others = ", ".join(f"'{other}'" for other in names()) or "none"
        raise ArgumentError(
            f"cluster: there is none named '{name}' (up: {others}). Make it with 'hemiola cluster up --name {name}'"
        )
    return state


def names() -> list[str]:
    """Return the clusters that are up, sorted; what killed ones have left is removed."""
    return sorted(path.stem for path in folder().glob("*.json") if _state(path) is not None)


def _state(path: Path) -> dict[str, Any] | None:
    """Return what a living cluster has written; None where there is none or it is not yet done. Remove a dead one's."""
    with contextlib.suppress(FileNotFoundError), _opened(path) as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            text = os.pread(descriptor, 1 << 20, 0)
            return dict(json.loads(text)) if text else None
        path.unlink()
    return None


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
