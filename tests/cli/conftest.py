# SPDX-License-Identifier: Apache-2.0
"""Runs the command line in this process, as a user would: arguments in, exit code, output and errors out."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import hemiola as hm
from hemiola.cli import main
from json_documents import judge_document


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The answer of a command that was given --json, as its schema has it; a list's `results`."""
        document = json.loads(self.out)
        judge_document(document)
        return document.get("results", document)

    def is_users_mistake(self) -> bool:
        """Whether it ended as a user's mistake must: code 2, one line on standard error, no traceback."""
        lines = self.err.splitlines()
        return self.code == 2 and len(lines) == 1 and lines[0].startswith("hemiola: ") and not self.out


@pytest.fixture
def hemiola(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    monkeypatch.setenv("COLUMNS", "110")

    def run(*arguments: object) -> Ran:
        capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return Ran(code, out, err)

    return run


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """A topology file: four ranks behind a switch, 10 us and 1 GB/s a port."""
    path = tmp_path / "cluster.yaml"
    hm.topologies.switch(4, latency_s=10e-6, bandwidth=1e9).save(path)
    return path
