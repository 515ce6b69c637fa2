# SPDX-License-Identifier: Apache-2.0
"""Hemiola on other versions of PyTorch, each in an environment of its own: what do its tests say there?

For each version a virtual environment is made, with that PyTorch from the package index and a wheel of this checkout.
In it run: tests/torch, the tests of PyTorch's own DistributedTest that gloo passes there, and two of the trainings of
torch_frameworks.py. An environment has 5 to 7 GB, since PyTorch's wheels on the index bring CUDA; it is removed when
its row is there, unless --into says where to keep it. Says nothing about speed: for that see torch_latency.py."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

import history
from hemiola.cli.output import table
from hemiola.machine.capacity import describe_machine
from hemiola.whole_file import write_whole

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests/torch"
#: What the tests import besides.
BESIDES = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis", "expecttest", "prometheus-client")
TRAININGS = ("ddp", "fsdp2")
#: Runs in the environment, which knows Hemiola by the backend's name alone.
ROUTE = """
import json, torch, torch.distributed as dist
def begin(): dist.init_process_group("hemiola", store=dist.HashStore(), rank=0, world_size=1)
imports = False
try: begin()
except (AssertionError, ValueError): import hemiola.torch; imports = True; begin()
from hemiola.torch.lookup import group_of
print(json.dumps({"torch": torch.__version__, "needs_import": imports, "route": type(group_of()).__name__}))
"""


def run(environment: Path, words: Sequence[str], **more: str) -> subprocess.CompletedProcess[str]:
    """Run a Python of an environment, with a cache of its own: what a user has compiled is another's."""
    own = {"XDG_CACHE_HOME": str(environment / "cache"), "OMP_NUM_THREADS": "1", **more}
    return subprocess.run(
        [str(environment / "bin/python"), *words],
        cwd=ROOT,
        env=os.environ | own,
        capture_output=True,
        text=True,
    )


def checked(environment: Path, *words: str) -> str:
    """Return what it prints. Raises RuntimeError with the end of what it says where it fails."""
    done = run(environment, words)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {(done.stdout + done.stderr)[-2000:]}")
    return done.stdout


def install(environment: Path, version: str, wheel: Path) -> None:
    """Make the environment, where it is not there yet."""
    if not (environment / "bin/python").exists():
        venv.create(environment, with_pip=True)
    checked(environment, "-m", "pip", "install", "-q", f"torch=={version}", *BESIDES)
    checked(environment, "-m", "pip", "install", "-q", str(wheel))
    checked(environment, "-m", "pip", "install", "-q", "--no-deps", "--force-reinstall", str(wheel))


def tests_of(environment: Path, chosen: Sequence[str]) -> dict[str, Any]:
    """Run tests/torch but for DistributedTest, and count."""
    report = environment / "tests.xml"
    whole = ["--ignore", str(TESTS / "test_distributed_tests.py"), str(TESTS)]
    words = [
        "-m",
        "pytest",
        "-q",
        "-n",
        "2",
        "-m",
        "not long",
        "-p",
        "no:cacheprovider",
        f"--junitxml={report}",
    ]
    run(environment, [*words, *(chosen or whole)])
    cases = list(ElementTree.parse(report).getroot().iter("testcase"))
    failed = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    skipped = [case for case in cases if case.find("skipped") is not None]
    return {
        "passed": len(cases) - len(failed) - len(skipped),
        "failed": [f"{case.get('classname')}::{case.get('name')}" for case in failed],
        "skipped": [
            f"{case.get('name')}: {reason.get('message')}"
            for case in skipped
            for reason in case.iter("skipped")
        ],
    }


def listed() -> Iterator[tuple[str, int]]:
    """Yield the tests that gloo passes on PyTorch 2.13, and with how many ranks."""
    for line in (TESTS / "distributed_tests.txt").read_text().splitlines():
        if not line.startswith("#"):
            test, rank_count = line.split()
            yield test, int(rank_count)


def distributed_tests_of(environment: Path) -> dict[str, Any]:
    """Run PyTorch's tests on both backends, and say what of gloo's passes here."""
    passed: dict[str, set[str]] = {"gloo": set(), "hemiola": set()}
    for backend, names in passed.items():
        for rank_count in sorted({ranks for _, ranks in listed()}):
            tests = [test for test, ranks in listed() if ranks == rank_count]
            words = [str(TESTS / "run_distributed_tests.py"), str(rank_count), backend, *tests]
            said = run(environment, words).stdout.splitlines()
            rows = [json.loads(line) for line in said if line.startswith("{")]  # PyTorch may print, too
            names |= {row["test"] for row in rows if row["outcome"] == "passed"}
    return {
        "gloo_passes": len(passed["gloo"]),
        "of_these_pass": len(passed["gloo"] & passed["hemiola"]),
        "missing": sorted(passed["gloo"] - passed["hemiola"]),
    }


def trainings_of(environment: Path) -> dict[str, str]:
    """Train on both backends, and say whether the losses are the same."""
    rows = environment / "trainings.json"
    run(environment, [str(ROOT / "benchmarks/torch_frameworks.py"), *TRAININGS, "--json", str(rows)])
    if not rows.exists():
        return dict.fromkeys(TRAININGS, "failed")
    return {row["training"]: row["result"] for row in map(json.loads, rows.read_text().splitlines())}


def row_of(version: str, environment: Path, wheel: Path, chosen: Sequence[str]) -> dict[str, Any]:
    """Install, try, and return what was found."""
    install(environment, version, wheel)
    row: dict[str, Any] = json.loads(checked(environment, "-c", ROUTE).splitlines()[-1])
    row["tests"] = tests_of(environment, chosen)
    if not chosen:
        row["distributed_tests"] = distributed_tests_of(environment)
        row["trainings"] = trainings_of(environment)
    return row


def words_of(row: dict[str, Any]) -> tuple[str, ...]:
    """Return a row of the table."""
    tests, theirs = row["tests"], row.get("distributed_tests")
    return (
        row["torch"],
        row["route"] + (", after an import" if row["needs_import"] else ""),
        f"{tests['passed']} pass, {len(tests['failed'])} fail, {len(tests['skipped'])} skipped",
        f"{theirs['of_these_pass']} of {theirs['gloo_passes']}" if theirs else "–",
        ", ".join(f"{name} {result}" for name, result in row.get("trainings", {}).items()) or "–",
    )


def main() -> int:
    """Try each version, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("versions", nargs="+", metavar="VERSION", help="of PyTorch, such as 2.15.0")
    parser.add_argument("--into", type=Path, help="keep the environments there, or use those that are there")
    parser.add_argument("--wheel", type=Path, help="of Hemiola; else one is built of this checkout")
    parser.add_argument(
        "--tests", nargs="+", default=[], metavar="TEST", help="these of tests/torch, nothing else"
    )
    parser.add_argument("--json", type=Path, help="also write the rows here, as JSON lines")
    history.add_option(parser)
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="torch_versions") as own:
        wheel = given.wheel or built(Path(own))
        for version in given.versions:
            with tempfile.TemporaryDirectory(prefix="torch_versions") as passing:
                environment = (given.into or Path(passing)).resolve() / version
                rows.append(row_of(version, environment, wheel.resolve(), given.tests))
            print(*words_of(rows[-1]), sep="; ", file=sys.stderr, flush=True)
    report = table(
        "PyTorch", "a group is a", "tests/torch", "of DistributedTest's that gloo passes", "trainings"
    )
    for row in rows:
        report.add_row(*words_of(row))
    Console(width=160).print(report)
    print(describe_machine())
    history.record(given, rows)
    if given.json:
        write_whole(given.json, "".join(json.dumps(row) + "\n" for row in rows))
    return int(any(row["tests"]["failed"] or row.get("distributed_tests", {}).get("missing") for row in rows))


def built(folder: Path) -> Path:
    """Build a wheel of this checkout."""
    words = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)]
    subprocess.run(words, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


if __name__ == "__main__":
    sys.exit(main())
