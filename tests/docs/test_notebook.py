# SPDX-License-Identifier: Apache-2.0
"""The notebook in examples/: it runs from top to bottom, keeps no output, and its algorithm is worth its figure."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from pages import ROOT

import hemiola as hm

NOTEBOOK = json.loads((ROOT / "examples/own_algorithm.ipynb").read_text(encoding="utf-8"))
CELLS = ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]


def run_cell(cell: str, names: dict[str, Any]) -> object:
    """Run a cell as Jupyter does, and return the value of its last line if that is an expression."""
    cell = re.sub(r"^%matplotlib inline$", "", cell, flags=re.M)
    *body, last = ast.parse(cell).body
    if not isinstance(last, ast.Expr):
        exec(cell, names)
        return None
    exec(compile(ast.Module(body, []), "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_the_notebook_keeps_no_output_and_is_of_a_version_that_jupyter_reads() -> None:
    assert (NOTEBOOK["nbformat"], NOTEBOOK["nbformat_minor"]) == (4, 5)
    for cell in NOTEBOOK["cells"]:
        assert cell.keys() == {"cell_type", "id", "metadata", "source"} | (
            {"execution_count", "outputs"} if cell["cell_type"] == "code" else set()
        )
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


def test_the_notebook_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    shown = [run_cell(cell, names) for cell in CELLS]
    figures = [value for value in shown if isinstance(value, Figure)]
    assert len(figures) == 3  # the network, the schedule's steps, the times
    assert any(isinstance(value, hm.Schedule) for value in shown)
    assert {path.name for path in tmp_path.iterdir()} == {"two_rows.pdf", "two_rows.tex", "two_rows.html"}
    said = capsys.readouterr().out
    assert "times the bound" in said

    # The page says that bytes should stay in a row: above 256 KiB its algorithm beats those of the literature.
    times = {(row.conditions, row.nbytes, row.algorithm): row.seconds for row in names["table"]}
    for conditions in ("healthy", "rank 0 is slow"):
        for nbytes in (1 << 22, 1 << 26):
            others = [times[conditions, nbytes, name] for name in ("ring", "recursive doubling")]
            assert times[conditions, nbytes, "two rows"] < min(others)
