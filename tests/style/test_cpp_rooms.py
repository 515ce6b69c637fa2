# SPDX-License-Identifier: Apache-2.0
"""Each room of the core is a library, and each folder of C++ tests an executable that is built by itself."""

import re
from pathlib import Path

import test_rooms

ROOT = Path(__file__).resolve().parents[2]


def named(file: str, function: str) -> list[str]:
    """Return the first argument of each call of a CMake function."""
    return re.findall(rf"^{function}\(([\w/]+)", (ROOT / file).read_text(), re.MULTILINE)


def test_every_folder_of_cpp_tests_has_its_executable() -> None:
    folders = {path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("*_test.cpp")}
    assert len(folders) > 15
    assert sorted(named("tests/CMakeLists.txt", "hemiola_test")) == sorted(map(str, folders))


def test_every_source_of_the_core_is_in_one_room() -> None:
    core = ROOT / "src/hemiola"
    rooms = named("src/hemiola/CMakeLists.txt", "hemiola_room")
    for path in core.rglob("*.cpp"):
        folder = path.parent.relative_to(core)
        holders = [room for room in rooms if folder.is_relative_to(room)]
        assert len(holders) == (folder.parts[0] != "bindings"), path


def test_every_room_of_the_core_has_folders_of_tests() -> None:
    for path in (ROOT / "src/hemiola").iterdir():
        if path.is_dir():
            assert test_rooms.folders_of(path.name), path.name


def test_the_tests_of_a_room_are_found_by_its_name() -> None:
    assert list(test_rooms.executables_of("base")) == ["test_base"]
    assert "test_runtime_wire" in test_rooms.executables_of("runtime")
    assert test_rooms.folders_of("verify") == ["conformance"]
    assert test_rooms.folders_of("runtime/wire") == ["runtime/wire"]
    assert test_rooms.folders_of("no_such_room") == []
