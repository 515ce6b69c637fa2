# SPDX-License-Identifier: Apache-2.0
"""The accelerator: compiled when asked for, once; used, left out or demanded; beside ranks that go through Python."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest
from forked import run
from of_pytorch import needs_backends_loaded

from hemiola.errors import ArgumentError
from hemiola.torch.accelerator import compile_for_torch
from hemiola.torch.accelerator.compiling import FOLDER_IN_CACHE, file_name

RANKS = 2
FUNCTIONS = ["counted", "mixed", "completed", "let_go"]


@pytest.fixture(scope="module")
def found(compiled_in: Path) -> dict[str, list[object]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(compiled_in))
        patch.setenv("HEMIOLA_TORCH_ACCELERATOR", "on")
        return run("accelerator_ranks", FUNCTIONS, RANKS)


def test_what_matters_goes_past_python_and_the_rest_does_not(found: dict[str, list[object]]) -> None:
    assert found["counted"] == [[1, 2, 3, 4, 5, 6, 6, 6, 6]] * RANKS


def test_ranks_with_and_without_it_work_together(found: dict[str, list[object]]) -> None:
    expected = [1.0, 1.0, 0.0, 1.0] * 5
    assert found["mixed"] == [(0, expected), (6 * 5, expected)]


def test_a_work_knows_when_it_is_over(found: dict[str, list[object]]) -> None:
    assert found["completed"] == [[False, True, 1, None]] * RANKS


def test_nothing_is_kept(found: dict[str, list[object]]) -> None:
    assert found["let_go"] == [[True] * 3] * RANKS


def compile_in(folder: Path) -> None:
    compile_for_torch(folder)


def test_of_several_that_ask_one_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = tmp_path / "calls"
    compiler = tmp_path / "compiler"
    compiler.write_text(
        f'#!/bin/sh\necho x >> {calls}\nsleep 0.5\nwhile [ "$1" != -o ]; do shift; done\n: > "$2"\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    at_once = multiprocessing.get_context("fork")
    asking = [at_once.Process(target=compile_in, args=(tmp_path / "into",)) for _ in range(4)]
    for process in asking:
        process.start()
    for process in asking:
        process.join()
    assert [process.exitcode for process in asking] == [0] * 4
    assert calls.read_text() == "x\n"
    assert sorted(path.name for path in (tmp_path / "into").iterdir()) == [file_name(), f"{file_name()}.lock"]


def test_what_keeps_it_from_being_compiled_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", str(tmp_path / "none"))
    with pytest.raises(ArgumentError, match=r"no '.*none': install one"):
        compile_for_torch(tmp_path)
    monkeypatch.setenv("CXX", "false")
    with pytest.raises(ArgumentError, match="'false' ended with 1"):
        compile_for_torch(tmp_path)
    assert not list(tmp_path.glob("*.so"))


def ended(tmp_path: Path, wanted: str) -> subprocess.CompletedProcess[str]:
    program = (
        "import torch, torch.distributed as dist; "
        "dist.init_process_group('hemiola', store=dist.HashStore(), rank=0, world_size=1); "
        "print(dist.group.WORLD._operations is None); dist.destroy_process_group()"
    )
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "HEMIOLA_TORCH_ACCELERATOR": wanted}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)


@needs_backends_loaded
def test_it_is_used_where_it_is_there_and_demanded_only_where_asked_for(
    tmp_path: Path, compiled_in: Path
) -> None:
    ways = [(compiled_in, "auto"), (compiled_in, "off"), (tmp_path, "auto")]
    said = [ended(*way).stdout.splitlines()[-1] for way in ways]  # some gloos print, too
    assert said == ["False", "True", "True"]
    refused = ended(tmp_path, "on")
    assert refused.returncode != 0
    assert "run 'hemiola accelerate' on this host" in refused.stderr
    assert not (tmp_path / FOLDER_IN_CACHE).exists()  # nothing is compiled unasked
