# SPDX-License-Identifier: Apache-2.0
"""Places where no file can be written, also for root, and a user who may not write what root may."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NOBODY = 65534
#: A name for each place, and what an error says about it.
PLACES = {
    "in no folder": "there is no folder",
    "where a folder is": "found a folder",
    "among processes": "cannot be written: No such file or directory",
    "in a read-only system": "cannot be written: (Permission denied|Read-only file system|Operation not permitted)",
}


def place(name: str, folder: Path, suffix: str) -> Path:
    """Return the path of a file that cannot be, in a folder of the test where it needs one."""
    if name == "in no folder":
        return folder / "none" / f"x{suffix}"
    if name == "where a folder is":
        (folder / f"taken{suffix}").mkdir(exist_ok=True)
        return folder / f"taken{suffix}"
    return Path("/proc" if name == "among processes" else "/sys") / f"x{suffix}"


@contextmanager
def read_only_file(suffix: str) -> Iterator[Path]:
    """Yield a file that the present user may not write; root is somebody else meanwhile."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / f"kept{suffix}"
        path.write_bytes(b"kept")
        path.chmod(0o444)
        path.parent.chmod(0o777)
        is_root = os.getuid() == 0
        if is_root:
            os.setresuid(_NOBODY, _NOBODY, 0)
        try:
            yield path
        finally:
            if is_root:
                os.setresuid(0, 0, 0)
        assert path.read_bytes() == b"kept"
