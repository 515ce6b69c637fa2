# SPDX-License-Identifier: Apache-2.0
"""Builds a wheel of Hemiola that has accelerators of its PyTorch backend in it, so that nobody has to compile one:
build_wheel.py VERSION... [-o FOLDER], such as `build_wheel.py 2.14.1 2.15.0`.

One accelerator fits one build of PyTorch (as torch.__version__ says, "2.15.0+cu132") and one Python: the one that runs
this. Each is compiled in an environment of its own with that PyTorch from the package index, of 5 to 7 GB, which is
removed again unless --environments says where to keep it."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PREBUILT = Path("hemiola/torch/accelerator/prebuilt")


def call(*words: str | Path, **more: str) -> None:
    """Run a command that must succeed."""
    subprocess.run([str(word) for word in words], check=True, env=os.environ | more)


def plain_wheel(folder: Path) -> Path:
    """Build the wheel without accelerators."""
    call(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


def python_with(version: str, wheel: Path, environment: Path) -> Path:
    """Return the Python of an environment that has a PyTorch and what Hemiola needs; makes it where it is not there."""
    python = environment / "bin/python"
    if not python.exists():
        venv.create(environment, with_pip=True)
    call(python, "-m", "pip", "install", "-q", f"torch=={version}", wheel, "wheel>=0.42")
    return python


def compile_into(unpacked: Path, python: Path) -> None:
    """Compile for the PyTorch of an environment the sources that the wheel has, into the wheel's tree."""
    call(python, "-m", "hemiola", "accelerate", "--into", unpacked / PREBUILT, PYTHONPATH=str(unpacked))
    for lock in (unpacked / PREBUILT).glob("*.lock"):
        lock.unlink()


def main() -> None:
    """Build, compile, pack."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("versions", nargs="+", metavar="VERSION", help="of PyTorch, such as 2.15.0")
    parser.add_argument("-o", "--output", type=Path, default=Path("dist"), help="folder of the wheel")
    parser.add_argument(
        "--wheel", type=Path, help="put them into this one; else one is built of this checkout"
    )
    parser.add_argument(
        "--environments", type=Path, help="keep environments there, or use those that are there"
    )
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="build_wheel") as own:
        wheel, unpacked = given.wheel or plain_wheel(Path(own)), Path(own) / "unpacked"
        zipfile.ZipFile(wheel).extractall(unpacked)
        for version in given.versions:
            with tempfile.TemporaryDirectory(prefix="build_wheel") as passing:
                place = (given.environments or Path(passing)).resolve() / version
                python = python_with(version, wheel, place)
                compile_into(unpacked, python)
                call(python, "-m", "wheel", "pack", unpacked, "-d", given.output)  # the last one has all


if __name__ == "__main__":
    main()
