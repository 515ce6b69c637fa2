# SPDX-License-Identifier: Apache-2.0
"""Where this user's clusters are found by name: a file each, which the cluster's keeper holds locked while it lives."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hemiola.errors import ArgumentError

#: The content of a cluster's file, see keeper.py.
_WRITTEN = {"keeper", "hosts", "own_user", "nics"}
_ROOTS = Path("/run/hemiola/clusters")


def folder() -> Path:
    """Return where the files are, made if it was not there; nobody else may write in it."""
    user = os.geteuid()
    if user == 0:
        path = _ROOTS
    elif runtime := os.environ.get("XDG_RUNTIME_DIR"):
        path = Path(runtime) / "hemiola"
    else:
        path = Path(tempfile.gettempdir()) / f"hemiola-{user}"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _folder_at(path):
        return path


@contextlib.contextmanager
def _folder_at(path: Path) -> Iterator[int]:
    """Open a folder that belongs to this user alone and is no link, by which a stranger would lead us elsewhere."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOTDIR):
            raise
        raise ArgumentError(
            f"cluster: expected '{path}' to be a folder, found a link or a file; remove it, or set XDG_RUNTIME_DIR"
        ) from None
    try:
        found = os.fstat(descriptor)
        if found.st_uid != os.geteuid() or found.st_mode & 0o022:
            raise ArgumentError(
                f"cluster: expected '{path}' to be this user's alone, found owner {found.st_uid} and mode "
                f"{found.st_mode & 0o7777:o}; remove it, or set XDG_RUNTIME_DIR"
            )
        yield descriptor
    finally:
        os.close(descriptor)


def path_of(name: str) -> Path:
    """Return a cluster's file, whether it is there or not."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,40}", name):
        raise ArgumentError(
            f"cluster: expected a name of letters, digits and -_. that begins with one of the former, found {name!r}"
        )
    return folder() / f"{name}.json"


def find(name: str) -> dict[str, Any]:
    """Return the entry of a cluster that is up.

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
    """Return the clusters that are up, sorted; the remains of killed ones are removed."""
    return sorted(path.stem for path in folder().glob("*.json") if _state(path) is not None)


def _state(path: Path) -> dict[str, Any] | None:
    """Return what a living cluster has written; None where there is none or it is not yet done. Remove a dead one's."""
    with (
        contextlib.suppress(FileNotFoundError),
        _folder_at(path.parent) as folder_descriptor,
        _opened(path.name, folder_descriptor) as descriptor,
    ):
        if descriptor is None:
            return None
        text = os.pread(descriptor, 1 << 20, 0)
        state = _state_in(text)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return state
        if state is not None or not text:  # other programs' files stay
            os.unlink(path.name, dir_fd=folder_descriptor)
    return None


def _state_in(text: bytes) -> dict[str, Any] | None:
    """Return what a cluster has written; None where something else stands there."""
    try:
        state = json.loads(text)
    except ValueError:
        return None
    return state if isinstance(state, dict) and set(state) == _WRITTEN else None


@contextlib.contextmanager
def _opened(name: str, folder_descriptor: int) -> Iterator[int | None]:
    """Open a regular file of this user's with one name, no link; None for anything else."""
    try:
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(name, flags, dir_fd=folder_descriptor)
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise
        yield None
        return
    try:
        found = os.fstat(descriptor)
        is_own = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_nlink == 1
        yield descriptor if is_own else None
    finally:
        os.close(descriptor)
