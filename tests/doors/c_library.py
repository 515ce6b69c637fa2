# SPDX-License-Identifier: Apache-2.0
"""libhemiola as a user has it: installed into a folder of its own, and programs that are compiled against it."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples/c"
LIMIT_S = 120.0
BUILD_LIMIT_S = 1800.0


def output_of(command: Sequence[str | Path], limit_s: float = LIMIT_S, **environment: str) -> str:
    """Run a command that must succeed, and return what it prints."""
    done = subprocess.run(
        [str(word) for word in command],
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=limit_s,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def needed(program: str, package: str) -> str:
    """Return a program's path; skip where it is not installed."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"needs {program} (apt install {package})")
    return found


def built_core() -> Path:
    """Return the folder in which set-up has built the core, whose rooms the library is linked from."""
    found = [
        cache.parent
        for cache in ROOT.glob("build/*/CMakeCache.txt")
        if f"CMAKE_HOME_DIRECTORY:INTERNAL={ROOT}\n" in (text := cache.read_text())
        and re.search(r"^HEMIOLA_SANITIZE:\w+=$", text, re.MULTILINE)
        and "CMAKE_TOOLCHAIN_FILE" not in text
    ]
    if not found:
        pytest.skip("needs the core's build folder, which a wheel has not (make build)")
    return max(found, key=lambda folder: (folder / "CMakeCache.txt").stat().st_mtime)


@dataclass(frozen=True)
class Library:
    """An installed library."""

    prefix: Path

    @classmethod
    def installed(cls, prefix: Path) -> Library:
        """Build and install it, as docs/how-to/c.md says; one process of a test run at a time."""
        build = built_core()
        with (build / "libhemiola.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            output_of(["cmake", "--build", build, "--target", "libhemiola"], BUILD_LIMIT_S)
            output_of(["cmake", "--install", build, "--component", "c", "--prefix", prefix])
        return cls(prefix)

    @property
    def libraries(self) -> Path:
        """The folder of the shared library."""
        (found,) = self.prefix.glob("lib*/**/libhemiola.so")
        return found.parent

    @property
    def path(self) -> dict[str, str]:
        """Where the dynamic linker and pkg-config find it."""
        return {
            "LD_LIBRARY_PATH": str(self.libraries),
            "PKG_CONFIG_PATH": str(self.libraries / "pkgconfig"),
        }

    def flags(self) -> list[str]:
        """Return what pkg-config says to the compiler."""
        return output_of(
            [needed("pkg-config", "pkg-config"), "--cflags", "--libs", "hemiola"], **self.path
        ).split()

    def compiled(self, source: Path, program: Path, compiler: Sequence[str] = ("cc",)) -> Path:
        """Compile a program by pkg-config's flags; its warnings are errors."""
        output_of(
            [*compiler, "-Wall", "-Wextra", "-Werror", source, "-o", program, "-pthread", *self.flags()]
        )
        return program
