# SPDX-License-Identifier: Apache-2.0
"""The register of clusters reads, locks and removes its own files alone, whatever a stranger has put there."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hemiola.cluster import register
from hemiola.errors import ArgumentError

WRITTEN = json.dumps({"keeper": 1, "hosts": [2], "own_user": None, "nics": 1})
PRECIOUS = '{"precious": 1}'


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where the register's one is made, as for a user without a runtime folder."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr("hemiola.cluster.register.tempfile.gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr("hemiola.cluster.register._ROOTS", tmp_path / "hemiola-0")
    return tmp_path


def folder_in(temporary: Path) -> Path:
    return temporary / f"hemiola-{os.getuid()}"


def test_a_link_in_place_of_the_folder_is_refused_and_nothing_behind_it_is_removed(temporary: Path) -> None:
    project = temporary / "project"
    project.mkdir(mode=0o700)
    (project / "results.json").write_text(PRECIOUS)
    folder_in(temporary).symlink_to(project)
    with pytest.raises(ArgumentError, match=r"found a link or a file"):
        register.names()
    assert (project / "results.json").read_text() == PRECIOUS


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_in_which_others_may_write_is_refused(temporary: Path, mode: int) -> None:
    folder_in(temporary).mkdir()
    folder_in(temporary).chmod(mode)
    with pytest.raises(ArgumentError, match=rf"mode {mode:o}"):
        register.names()


def test_files_that_no_cluster_has_written_stay(temporary: Path) -> None:
    folder = register.folder()
    kept = {
        "results": PRECIOUS,
        "list": "[1]",
        "text": "not JSON",
        "other": json.dumps({"keeper": 1}),
    }
    for name, text in kept.items():
        (folder / f"{name}.json").write_text(text)
    (temporary / "target.json").write_text(WRITTEN)
    (folder / "link.json").symlink_to(temporary / "target.json")
    os.link(temporary / "target.json", folder / "target.json")
    os.mkfifo(folder / "pipe.json")
    (folder / "deeper.json").mkdir()
    before = sorted(folder.iterdir())
    assert register.names() == []
    assert sorted(folder.iterdir()) == before
    assert {name: (folder / f"{name}.json").read_text() for name in kept} == kept


def test_what_dead_clusters_have_left_is_removed(temporary: Path) -> None:
    folder = register.folder()
    (folder / "dead.json").write_text(WRITTEN)
    (folder / "unfinished.json").write_text("")
    assert register.names() == []
    assert list(folder.iterdir()) == []
