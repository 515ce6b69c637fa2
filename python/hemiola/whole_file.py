# SPDX-License-Identifier: Apache-2.0
"""Files that appear whole or not at all. The package writes all files by this, or in the core by its WholeFile."""

from __future__ import annotations

import os

from hemiola._core import check_whole as check_in_core
from hemiola._core import write_whole as write_in_core


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file in one go. It is written beside its place first. So a full disk or an interrupt leaves the old
    file.

    Text is written in UTF-8; pipes and devices are written to directly. OSError names the file.
    """
    write_in_core(path, content.encode() if isinstance(content, str) else content)


def check_whole(path: str | os.PathLike[str]) -> None:
    """Raise the OSError with which `write_whole` could not begin, and leave everything as it is."""
    check_in_core(path)
