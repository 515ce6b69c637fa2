# SPDX-License-Identifier: Apache-2.0
"""Where the tests of a room are: its folders under tests/, and its executables of C++ tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Folders of tests for rooms that have none of their own name, or more.
FOLDERS = {
    "algorithms": ["algorithms", "conformance"],
    "bindings": ["arguments"],
    "bounds": ["models"],
    "codecs": ["codec"],
    "runtime": ["runtime", "communicator"],
    "schedule": ["formats", "conformance"],
    "simulate": ["models"],
    "verify": ["conformance"],
}


def folders_of(room: str, tree: Path = ROOT) -> list[str]:
    """Return the folders under tests/ that judge a room, such as "planner" or "runtime/wire"."""
    return [folder for folder in FOLDERS.get(room, [room]) if (tree / "tests" / folder).is_dir()]


def executables_of(folder: str, tree: Path = ROOT) -> Iterator[str]:
    """Yield the C++ tests of a folder and of those in it, as names of executables: "test_runtime_wire"."""
    top = tree / "tests"
    for path in sorted({path.parent for path in (top / folder).rglob("*_test.cpp")}):
        yield "_".join(["test", *path.relative_to(top).parts])
