# SPDX-License-Identifier: Apache-2.0
"""Which tests run which line of the package, in their own process or in those that they start.

Tests run once under coverage, which starts in each process by the environment and names the test that runs there. This
file is also the plugin of pytest that names it in pytest's own process, and notes how long each test takes. A changed
test file is measured again alone; a changed package begins anew, in a folder of its own."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import coverage
import pytest

#: Folders of tests that read sources, run what the docs print, or compare papers with papers.
LEFT_OUT = {"demo", "docs", "style"}
_CONFIGURATION = """[run]
parallel = true
data_file = {folder}/lines
include = {tree}/python/hemiola/*
context = ${{PYTEST_CURRENT_TEST}}
patch = fork, _exit
"""


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Name the test that runs from here on."""
    if (running := coverage.Coverage.current()) is not None:
        running.switch_context(item.nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note how long a part of a test took: setting up, running, tearing down."""
    with open(os.environ["COVERING_TESTS_TIMES"], "a") as file:
        file.write(f"{report.duration:.3f} {report.nodeid}\n")


def _test(name: str) -> str:
    """Return a test without its parameters, which a planted bug may change, and without the part of it that ran."""
    return re.sub(r"(\[.*\])?( \((setup|call|teardown)\))?$", "", name, flags=re.DOTALL)


class CoveringTests:
    """The tests of a copy of the repository, by the lines that they run."""

    def __init__(self, tree: Path, folder: Path, environment: Mapping[str, str]) -> None:
        self._tree, self._environment = tree, environment
        digest = hashlib.sha256()
        for path in sorted((tree / "python").rglob("*.py")):
            digest.update(path.read_bytes())
        self._folder = folder / f"covering-{digest.hexdigest()[:12]}"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._record = self._folder / "measured.json"
        self._measured = json.loads(self._record.read_text()) if self._record.exists() else {}
        self._lines: dict[str, dict[int, list[str]]] = {}

    def measure(self) -> None:
        """Run the test files that are new or changed, a folder at a time, so that an end costs one folder."""
        wanted: defaultdict[Path, dict[str, str]] = defaultdict(dict)
        for path in sorted((self._tree / "tests").rglob("test_*.py")):
            name, digest = str(path.relative_to(self._tree)), hashlib.sha256(path.read_bytes()).hexdigest()
            known = self._measured.get(name, {}).get("digest")
            if path.parent.name not in LEFT_OUT and known != digest:
                wanted[path.parent][name] = digest
        for folder, files in wanted.items():
            print(f"which lines the tests of {folder.relative_to(self._tree)} run", flush=True)
            times = self._run(list(files))
            data = coverage.Coverage(data_file=str(self._folder / "lines"), config_file=False)
            data.load()
            data.combine([str(self._folder)])
            data.save()
            for part in self._folder.glob("lines.*"):  # of processes that were killed while they wrote
                part.unlink()
            for name, digest in files.items():
                of_file = {test: took for test, took in times.items() if test.startswith(f"{name}::")}
                self._measured[name] = {"digest": digest, "times": of_file}
            self._record.write_text(json.dumps(self._measured))

    def _run(self, files: list[str]) -> dict[str, float]:
        """Run test files under coverage; return how long each test took."""
        configuration, times = self._folder / "configuration", self._folder / "times"
        configuration.write_text(_CONFIGURATION.format(folder=self._folder, tree=self._tree))
        times.write_text("")
        more = {
            "COVERAGE_PROCESS_START": str(configuration),
            "COVERING_TESTS_TIMES": str(times),
            "PYTHONPATH": f"{self._environment['PYTHONPATH']}:{Path(__file__).parent}",
        }
        words = (sys.executable, "-m", "pytest", "-q", "-m", "not long", "-p", "covering_tests")
        with (self._folder / "last.log").open("w") as log:
            subprocess.run(
                [*words, "-p", "no:cacheprovider", *files],
                cwd=self._tree,
                env={**self._environment, **more},
                stdout=log,
                stderr=log,
            )
        took: defaultdict[str, float] = defaultdict(float)
        for line in times.read_text().splitlines():
            seconds, _, name = line.partition(" ")
            took[_test(name)] += float(seconds)
        return dict(took)

    def of(self, path: str, line: int, most_s: float) -> list[str]:
        """Return the tests that run a line, the fastest first, as many as `most_s` seconds allow."""
        if path not in self._lines:
            data = coverage.CoverageData(str(self._folder / "lines"))
            data.read()
            self._lines[path] = data.contexts_by_lineno(str(self._tree / path))
        times = {test: took for file in self._measured.values() for test, took in file["times"].items()}
        for lines in _places((self._tree / path).read_text(), line):
            ran = {_test(test) for each in lines for test in self._lines[path].get(each, [])}
            if chosen := sorted(ran & times.keys(), key=lambda test: times[test]):
                spent = 0.0
                return [test for test in chosen if (spent := spent + times[test]) <= most_s] or chosen[:1]
        return []


def _places(source: str, line: int) -> Iterator[Iterable[int]]:
    """Yield the lines to ask for, the nearest first: a statement's own; what it names, as what runs only at an import
    is used where it is named; the file."""
    inside = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    count = source.count("\n") + 1
    if inside:
        nearest = max(inside, key=lambda node: node.lineno)
        body = getattr(nearest, "body", None)
        last = body[0].lineno - 1 if body else nearest.end_lineno or nearest.lineno
        yield range(nearest.lineno, max(nearest.lineno, last) + 1)
        if isinstance(nearest, ast.FunctionDef | ast.ClassDef):
            yield range(nearest.lineno, (nearest.end_lineno or count) + 1)
        targets = [nearest] if isinstance(nearest, ast.Assign | ast.AnnAssign) else []
        names = [node for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
        named = {node.id for node in names if isinstance(node.ctx, ast.Store)}
        words = [re.compile(rf"\b{name}\b") for name in named]
        yield [
            at for at, text in enumerate(source.splitlines(), 1) if any(word.search(text) for word in words)
        ]
    yield range(1, count + 1)
