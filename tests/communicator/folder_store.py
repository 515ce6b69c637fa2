# SPDX-License-Identifier: Apache-2.0
"""A store as `Communicator.join` takes it, in a folder: what a test needs of torch.distributed's FileStore."""

from __future__ import annotations

import fcntl
import hashlib
from pathlib import Path


class FolderStore:
    """A file for each key."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def _file(self, key: str) -> Path:
        return self._folder / hashlib.sha256(key.encode()).hexdigest()

    def add(self, key: str, amount: int) -> int:
        """Add to a number."""
        with (self._folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            total = int(self.get(key) if self.check([key]) else 0) + amount
            self.set(key, str(total))
        return total

    def set(self, key: str, value: str) -> None:
        """Note a value, at once."""
        made = self._file(key).with_suffix(".new")
        made.write_text(value)
        made.rename(self._file(key))

    def get(self, key: str) -> bytes:
        """Return a value."""
        return self._file(key).read_bytes()

    def check(self, keys: list[str]) -> bool:
        """Say whether all are there."""
        return all(self._file(key).exists() for key in keys)
