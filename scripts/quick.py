# SPDX-License-Identifier: Apache-2.0
"""Builds and runs the tests of rooms and nothing else, without torch, MPI and UCX: quick.py [ROOM...] [--core wheel].

A room is a folder of src/hemiola, python/hemiola or tests, such as "planner" or "runtime/wire". Without any, the C++
tests of the lowest rooms run, which take seconds. With `--core wheel` the compiled core comes out of the newest
dist/hemiola-*.whl, or out of a named one: then nothing is compiled, and only Python tests run. Everything is made in
build/quick, apart from what `make test` makes. The core is less optimized there, so it measures nothing."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

from test_rooms import ROOT, executables_of, folders_of

BUILD = ROOT / "build/quick"
VENV = BUILD / "venv"
CPP_ROOMS = ["base", "algorithms", "schedule", "trees"]
PYTHON_ROOMS = ["codec", "pruning", "topology"]
TOOLS = ["cmake>=3.25", "ninja>=1.11"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
#: Finds the compiled core beside this environment, and the package in the working tree.
FINDER = """import importlib.util, sys
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "hemiola._core":
            return importlib.util.spec_from_file_location(name, {core!r})
sys.meta_path.insert(0, Finder)
"""


def call(*words: str | Path) -> None:
    """Run a command; where it fails, end with its status, as it has said why."""
    path = f"{VENV / 'bin'}:{os.environ['PATH']}"
    status = subprocess.run(
        [str(word) for word in words], cwd=ROOT, env=os.environ | {"PATH": path}
    ).returncode
    if status:
        sys.exit(status)


def install(requirements: list[str]) -> None:
    """Put packages into the environment of these tests, unless the same ones are there."""
    done = VENV / "requirements.txt"
    there = done.read_text().splitlines() if done.exists() else []
    missing = [one for one in requirements if one not in there]
    if not VENV.exists():
        venv.create(VENV, with_pip=True)
    if missing:
        call(
            VENV / "bin/python",
            "-m",
            "pip",
            "install",
            "-q",
            "--disable-pip-version-check",
            "--no-compile",
            *missing,
        )
        done.write_text("\n".join(there + missing))


def compile_targets(targets: list[str], with_python: bool) -> None:
    """Configure where that is due, and build."""
    folder = BUILD / "cpp"
    python = VENV / "bin/python"
    options = ["-G", "Ninja", "-DHEMIOLA_TESTS=ON", f"-DHEMIOLA_PYTHON={'ON' if with_python else 'OFF'}"]
    # Compiles in two thirds of the time, and no test here is long.
    options += ["-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG", f"-DPython_EXECUTABLE={python}"]
    made = folder / ("with_python" if with_python else "build.ninja")
    if not made.exists():
        call("cmake", "-S", ROOT, "-B", folder, "--log-level=WARNING", *options)
        made.touch()
    call("cmake", "--build", folder, "--target", *targets)


def core_of(wheel: str) -> Path:
    """Return the compiled core out of a wheel, unpacked."""
    wheels = sorted((ROOT / "dist").glob("hemiola-*.whl"), key=os.path.getmtime)
    path = Path(wheel) if wheel != "wheel" else wheels[-1] if wheels else None
    if path is None or not path.is_file():
        sys.exit(
            f"quick: expected {path or 'a wheel dist/hemiola-*.whl'}, found none. "
            "'make wheel' builds one, and 'pip download --no-deps -d dist hemiola' fetches one."
        )
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name == f"hemiola/_core{suffix}"]
        if not names:
            sys.exit(
                f"quick: expected a core for this Python (hemiola/_core{suffix}) in {path}, found none. Take another "
                "wheel, or leave CORE out to compile it."
            )
        return Path(archive.extract(names[0], BUILD / "wheel"))


def run_python(folders: list[str], core: Path) -> None:
    """Run the Python tests of folders, on this core and the package of the working tree."""
    (packages,) = (VENV / "lib").glob("python3*/site-packages")
    (packages / "hemiola_core_finder.py").write_text(FINDER.format(core=str(core)))
    (packages / "hemiola_tree.pth").write_text(f"{ROOT / 'python'}\nimport hemiola_core_finder\n")
    tests = [str(path) for folder in folders for path in sorted((ROOT / "tests" / folder).glob("test_*.py"))]
    call(VENV / "bin/python", "-m", "pytest", "-q", "-m", "not long", *tests)


def main() -> None:
    """Find the rooms' tests, make what these need, and run them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "rooms", nargs="*", metavar="ROOM", help="folder of src/hemiola, python/hemiola or tests"
    )
    parser.add_argument("--core", metavar="WHEEL", help='"wheel", or the file of one: compile nothing')
    options = parser.parse_args()
    default = PYTHON_ROOMS if options.core else CPP_ROOMS
    rooms = options.rooms or default
    for room in rooms:
        if not folders_of(room):
            sys.exit(f"quick: expected a room, a folder such as planner or runtime/wire, found '{room}'")
    folders = list(dict.fromkeys(folder for room in rooms for folder in folders_of(room)))
    with_python = bool(options.rooms or options.core) and any(
        list((ROOT / "tests" / folder).glob("test_*.py")) for folder in folders
    )
    names = [name for folder in folders for name in executables_of(folder)]
    packages = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"]] if with_python else []
    if options.core:
        core = core_of(options.core)
        install(packages)
    else:
        install([*TOOLS, *(["nanobind>=3.1"] if with_python else []), *packages])
        compile_targets([*names, *(["_core"] if with_python else [])], with_python)
        for name in names:
            call(BUILD / "cpp/tests" / name, "--gtest_brief=1")
    if with_python:
        run_python(folders, core if options.core else next((BUILD / "cpp").glob("_core*.so")))


if __name__ == "__main__":
    main()
