# SPDX-License-Identifier: Apache-2.0
"""The names that MPItrampoline, which jaxlib contains, looks for in the library that it loads."""

from __future__ import annotations

import mmap
import re
from importlib.util import find_spec
from pathlib import Path

_NAME = re.compile(rb"MPIX?ABI_[A-Za-z0-9_]+")


def names_of_jaxlib() -> set[str]:
    """Return the names in the installed jaxlib. Reads all of its library: half a second."""
    with (
        open(_library_of_jaxlib(), "rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text,
    ):
        names = set()
        at = text.find(b"ABI_")
        while at >= 0:
            start = at - len(b"MPIX") if text[at - len(b"MPIX") : at] == b"MPIX" else at - len(b"MPI")
            found = _NAME.match(text, start)
            if found and text[found.end()] == 0:
                names.add(found.group().decode())
            at = text.find(b"ABI_", at + 1)
        return names


def is_function(name: str) -> bool:
    """Say whether a name is a function's: those of constants are in capitals."""
    return any(letter.islower() for letter in name.partition("ABI_")[2])


def _library_of_jaxlib() -> Path:
    spec = find_spec("jaxlib")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).with_name("libjax_common.so")
