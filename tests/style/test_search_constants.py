# SPDX-License-Identifier: Apache-2.0
"""Constants that guess the cost of a search only get fewer: a budget of operations replaces them.

`search_constants.txt` names every constant that limits work or choices in the rooms that search, and its kind."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("planner", "synthesis", "algorithms", "trees")
LISTED = ROOT / "tests/style/search_constants.txt"
KINDS = {"cost", "rule", "quality", "memory", "argument", "price"}
#: As many as there are today; the goal is 40.
MOST_COST = 16

_PYTHON = re.compile(
    "MOST|FEW|MANY|TRIALS|WORK|BUDGET|SMALL_TRANSFERS|_TIMES|ESTIMATED|SHARE|MAKING|BOUNDING|^IN_"
)
_CPP = re.compile(
    "Most|Max|Few|Many|Cheap|Rounds|Searches|Work|Preparing|UpAndDown|Spreading|Choosing|Splitting|Steps|Unasked|Per(Event|Channel)"
)


def constants() -> Iterator[str]:
    """Yield `path name` of each constant of a module or namespace whose name speaks of a limit or a share."""
    for path in sorted(path for room in ROOMS for path in (ROOT / "python/hemiola" / room).rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            targets = node.targets if isinstance(node, ast.Assign) else []
            for target in targets:
                for name in target.elts if isinstance(target, ast.Tuple) else [target]:
                    if isinstance(name, ast.Name) and name.id.isupper() and _PYTHON.search(name.id):
                        yield f"{path.relative_to(ROOT)} {name.id}"
    for path in sorted(path for room in ROOMS for path in (ROOT / "src/hemiola" / room).rglob("*.?pp")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if re.match(r"\s*(inline |static )*constexpr [^(]*\bk[A-Z]", line):
                for name in re.findall(r"\b(k[A-Z]\w*)(?= =|\{|\[)", line):
                    if _CPP.search(name):
                        yield f"{path.relative_to(ROOT)} {name}"


def listed() -> dict[str, tuple[str, str]]:
    rows = (line.split(maxsplit=3) for line in LISTED.read_text(encoding="utf-8").splitlines() if line)
    return {f"{path} {name}": (kind, reason) for kind, path, name, reason in rows}


def test_every_limit_is_listed_with_its_kind_and_reason() -> None:
    assert set(constants()) == set(listed())
    assert {kind for kind, _ in listed().values()} <= KINDS
    assert all(reason for _, reason in listed().values())


def test_constants_that_guess_the_cost_of_a_search_only_get_fewer() -> None:
    guessed = [name for name, (kind, _) in listed().items() if kind == "cost"]
    assert len(guessed) == MOST_COST, "lower MOST_COST, or let a budget of operations decide"
