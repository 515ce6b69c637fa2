# SPDX-License-Identifier: Apache-2.0
"""Records, metrics and logs that cannot be written: the operation's own error is raised, and one warning names the
place and the reason."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from forked import run

RANKS = 3
#: The reasons that a place gives, by its name.
REASONS = {
    "full": "No space left on device",
    "readonly": "Read-only file system",
    "file": "File exists",
    "device": "File exists",
    "descriptor": "No such file or directory",
}


def _mounted(folder: Path, options: str) -> Path:
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)
    return folder


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A place of each kind; those that need a file system of their own where this user may mount one."""
    folder = tmp_path_factory.mktemp("places")
    (folder / "file").write_text("")
    made = {
        "file": str(folder / "file"),
        "device": "/dev/full",
        "descriptor": "/proc/self/fd/999/record",
    }
    mounted = []
    try:
        mounted.append(_mounted(folder / "full", "size=4k"))
        made["full"] = str(folder / "full")
        mounted.append(_mounted(folder / "readonly", "ro"))
        made["readonly"] = str(folder / "readonly" / "record")
    except subprocess.CalledProcessError:
        pass
    yield made
    for each in mounted:
        subprocess.run(["umount", str(each)], check=True)


@pytest.fixture(scope="module")
def found(way: str, places: dict[str, str]) -> dict[str, list[Any]]:
    """What every function has returned, by rank."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLACES", ":".join(places.values()))
        return run("side_channel_ranks", ["failures", "metrics", "closed_stream"], RANKS)


def test_operations_raise_their_own_errors_where_no_record_can_be_written(
    found: dict[str, list[Any]], places: dict[str, str]
) -> None:
    for rank, by_place in enumerate(found["failures"]):
        lost = "left" if rank == 1 else "LostRankError"
        expected = ["MismatchError", "MismatchError", lost, lost, "nothing"]
        assert {place: raised for place, (raised, _) in by_place.items()} == dict.fromkeys(
            places.values(), expected
        )


def test_a_record_that_cannot_be_written_is_one_warning_with_place_and_reason(
    found: dict[str, list[Any]], places: dict[str, str]
) -> None:
    for by_place in found["failures"]:
        for kind, place in places.items():
            (line,) = by_place[place][1]
            assert f"HEMIOLA_RECORD '{place}'" in line
            assert REASONS[kind] in line


def test_a_port_of_metrics_that_is_taken_is_one_warning(found: dict[str, list[Any]]) -> None:
    for lines in found["metrics"]:
        assert len(lines) == 1
        assert "HEMIOLA_PROMETHEUS" in lines[0]
        assert "Address already in use" in lines[0]


def test_a_log_that_cannot_be_written_changes_nothing(found: dict[str, list[Any]]) -> None:
    for rank, raised in enumerate(found["closed_stream"]):
        assert raised == ["MismatchError", "left" if rank == 1 else "LostRankError", "nothing"]
