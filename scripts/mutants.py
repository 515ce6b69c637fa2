# SPDX-License-Identifier: Apache-2.0
"""Plants bugs and says which of them the tests notice: mutants.py [--python 200] [--cpp 60] [--seed 0] [--only ROOM].

Works in a copy of the last commit under build/mutants, never in the working tree. A sample is drawn by the seed, each
room its share of lines and three at least. A mutant in Python meets the tests that run its line, the fastest first,
until one fails; one in C++ meets the tests of its room, those that name the changed module first. That test must pass
without the mutant, else the mutant is undecided; so is one that outlasts its limit, because slow tests are no failing
ones.
What was found is kept in build/mutants/found.jsonl, so that a run goes on where the last one ended. Mutants that change
nothing anybody could see stand with the reason in scripts/equivalent_mutants.txt. A room where fewer than 95 of 100
decided mutants die is missed."""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import random
import re
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import mutations
from covering_tests import CoveringTests
from test_rooms import executables_of, folders_of

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "mutants"
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.txt")
#: Files of Python tests that a mutant of the core meets at most.
MOST_FILES = 8
GOAL = 0.95


@dataclass(frozen=True)
class Planted:
    """A mutant: in which language's room and which file."""

    language: str
    path: str
    mutation: mutations.Mutation

    @property
    def room(self) -> str:
        parts = Path(self.path).parts
        return Path(parts[2]).stem

    @property
    def name(self) -> str:
        return f"{self.path}: {self.mutation.name}"


def call(*words: str | Path, **more: object) -> None:
    """Run a command that must succeed."""
    subprocess.run([str(word) for word in words], check=True, **more)  # type: ignore[call-overload]


def make_tree(tree: Path) -> None:
    """Copy the last commit, and let Python find this copy's package before the one that is installed."""
    call("git", "-C", ROOT, "worktree", "prune")
    tree.mkdir(parents=True, exist_ok=True)
    archive = subprocess.run(["git", "-C", ROOT, "archive", "HEAD"], check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", tree], check=True, input=archive)
    (core,) = (Path(sys.prefix) / "lib").glob("python3*/site-packages/hemiola/_core*.so")
    (tree / "python/hemiola" / core.name).write_bytes(core.read_bytes())
    (tree / "python/sitecustomize.py").write_text(
        "import sys\nsys.meta_path[:] = [one for one in sys.meta_path if 'Redirecting' not in type(one).__name__]\n"
    )
    # Each process then compiles only what a mutant has changed.
    call(sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", tree / "python")


def all_mutants(tree: Path, language: str) -> Iterator[Planted]:
    """Yield every mutant of a language's sources."""
    folder, suffix = ("python/hemiola", ".py") if language == "python" else ("src/hemiola", ".cpp")
    made = mutations.of_python if language == "python" else mutations.of_cpp
    for path in sorted((tree / folder).rglob(f"*{suffix}")):
        within = path.relative_to(tree)
        if within.parts[2] not in ("_core", "demo"):
            for mutation in made(path.read_text()):
                yield Planted(language, str(within), mutation)


def sampled(planted: Sequence[Planted], count: int, seed: int) -> list[Planted]:
    """Draw a sample: from each room its share, three at least; the same one for the same seed and sources."""
    rng = random.Random(f"mutants {seed}")
    rooms: defaultdict[str, list[Planted]] = defaultdict(list)
    for one in planted:
        rooms[one.room].append(one)
    drawn: list[Planted] = []
    for _, those in sorted(rooms.items()):
        wanted = max(3, round(count * len(those) / len(planted)))
        drawn += rng.sample(those, min(wanted, len(those)))
    rng.shuffle(drawn)
    return drawn


def test_files(tree: Path, one: Planted) -> list[str]:
    """Return the Python test files of the core's room, those first that name the changed module or function."""
    folders = folders_of(one.room, tree)
    stem = Path(one.path).stem if Path(one.path).stem != "__init__" else one.room
    words = {stem, *stem.split("_"), *re.findall(r"\w+", one.mutation.name.partition(": ")[0])} - {"module"}
    files = [path for folder in folders for path in sorted((tree / "tests" / folder).glob("test_*.py"))]

    def unlikely(path: Path) -> tuple[int, int]:
        text = path.read_text()
        return -sum((word in text) + 2 * (word in path.name) for word in words), len(text)

    return [str(path.relative_to(tree)) for path in sorted(files, key=unlikely)[:MOST_FILES]]


def environment(tree: Path) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return os.environ | {"PYTHONPATH": str(tree / "python"), "PYTHONDONTWRITEBYTECODE": "1", "PATH": path}


def ended(words: Sequence[str], tree: Path, limit_s: float) -> int | None:
    """Run a command in a session of its own; return how it ended, None where the limit ended it."""
    with (BUILD / "last.log").open("w") as log:
        process = subprocess.Popen(
            words, cwd=tree, env=environment(tree), stdout=log, stderr=log, start_new_session=True
        )
        try:
            return process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            for which in (
                signal.SIGTERM,
                signal.SIGKILL,
            ):  # ranks end with their launcher
                try:
                    os.killpg(process.pid, which)
                    process.wait(5)
                except (ProcessLookupError, subprocess.TimeoutExpired):
                    pass


def pytest(files: Sequence[str], *more: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "pytest",
        "-x",
        "-q",
        "-m",
        "not long",
        "-p",
        "no:cacheprovider",
        *more,
        *files,
    ]


def compiled(tree: Path, tests: Sequence[str], limit_s: float) -> bool:
    """Compile the copy with these C++ tests, and put its core where its package is; whether that succeeded."""
    folder = BUILD / "cpp"
    options = ("-G", "Ninja", "-DHEMIOLA_TESTS=ON")
    if not (folder / "build.ninja").exists():
        call("cmake", "-S", tree, "-B", folder, *options, stdout=subprocess.DEVNULL)
    build = ["cmake", "--build", str(folder), "--target", *tests, "_core"]
    if ended(build, tree, limit_s) != 0:
        return False
    (core,) = folder.glob("_core*.so")
    (tree / "python/hemiola" / core.name).write_bytes(core.read_bytes())
    return True


def cpp_tests(tree: Path, room: str) -> list[str]:
    """Return the executables of a room's C++ tests."""
    return [name for folder in folders_of(room, tree) for name in executables_of(folder, tree)]


def cpp_outcome(tree: Path, tests: Sequence[str], limit_s: float) -> int | None:
    """Run executables of C++ tests until one fails; return how that ended, None where the limit ended it."""
    for name in tests:
        code = ended([str(BUILD / "cpp/tests" / name), "--gtest_fail_fast"], tree, limit_s)
        if code != 0:
            return code
    return 0


def outcome(tree: Path, one: Planted, tests: Sequence[str], limit_s: float) -> str:
    """Say whether tests notice a mutant: died, survived or undecided; "no build" where the compiler noticed."""
    if one.language == "cpp":
        executables = cpp_tests(tree, one.room)
        if not compiled(tree, executables, 4 * limit_s):
            return "no build"
        code = cpp_outcome(tree, executables, limit_s)
        if code != 0:
            return "died" if code is not None else "undecided"
    if not tests:
        return "survived"
    code = ended(pytest(tests), tree, limit_s)
    return "undecided" if code is None else "survived" if code == 0 else "died"


def plant(tree: Path, one: Planted, covering: CoveringTests, limit_s: float) -> str:
    """Change the copy, ask its tests, and change it back."""
    path = tree / one.path
    in_core = one.language == "cpp"
    tests = test_files(tree, one) if in_core else covering.of(one.path, one.mutation.line, limit_s / 2)
    original = path.read_text()
    path.write_text(one.mutation.text())
    try:
        found = outcome(tree, one, tests, limit_s)
    finally:
        path.write_text(original)
    return "undecided" if found == "died" and fails_anyway(tree, limit_s) else found


def fails_anyway(tree: Path, limit_s: float) -> bool:
    """Whether the test that failed last fails in the unchanged copy, too: then it says nothing about a mutant."""
    failed = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", (BUILD / "last.log").read_text(), re.MULTILINE)
    return failed is not None and ended(pytest([failed[1]]), tree, limit_s) != 0


def require_sound_tests(tree: Path, rooms: Sequence[str], limit_s: float) -> None:
    """End this program unless the C++ tests of these rooms pass where nothing is planted."""
    tests = {room: cpp_tests(tree, room) for room in rooms}
    if rooms and not compiled(
        tree, sorted({name for names in tests.values() for name in names}), 60 * limit_s
    ):
        sys.exit(f"mutants: the copy does not compile as it is, see {BUILD / 'last.log'}")
    for room in rooms:
        if cpp_outcome(tree, tests[room], limit_s) != 0:
            sys.exit(f"mutants: tests of {room} fail where nothing is planted, see {BUILD / 'last.log'}")


def equivalents() -> set[str]:
    """Return the names of mutants that nobody can tell from the original."""
    lines = EQUIVALENT.read_text().splitlines() if EQUIVALENT.exists() else []
    return {line.partition(" | ")[0] for line in lines if " | " in line}


def report(found: dict[str, str], planted: Sequence[Planted]) -> bool:
    """Print a row per room and every survivor; whether all rooms reach the goal."""
    known = equivalents()
    rooms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for one in planted:
        rooms[f"{one.language} {one.room}"][
            "equivalent" if one.name in known else found.get(one.name, "not run")
        ] += 1
    kinds = ("died", "survived", "equivalent", "undecided", "no build", "not run")
    print(f"{'room':28}" + "".join(f"{kind:>11}" for kind in kinds) + "   share")
    reached = True
    for room, counts in sorted(rooms.items()):
        decided = counts["died"] + counts["survived"]
        share = counts["died"] / decided if decided else 1.0
        reached &= share >= GOAL
        print(f"{room:28}" + "".join(f"{counts[kind]:11}" for kind in kinds) + f"   {share:.0%}")
    for one in planted:
        if found.get(one.name) == "survived" and one.name not in known:
            print(f"survived: {one.name} (line {one.mutation.line})")
    return reached


def main() -> int:
    """Plant, test, report; exit status 1 where a room misses the goal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", type=int, default=200, metavar="COUNT")
    parser.add_argument("--cpp", type=int, default=60, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", metavar="ROOM", help="rooms, in both languages")
    parser.add_argument("--limit", type=float, default=240, metavar="SECONDS", help="of one mutant's tests")
    parser.add_argument("--report", action="store_true", help="run nothing; say what was found so far")
    parser.add_argument(
        "--again", action="store_true", help="run those again that survived or were undecided"
    )
    options = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    record, tree = BUILD / "found.jsonl", BUILD / "tree"
    if not options.report:
        alone = (BUILD / "lock").open("w")
        try:
            fcntl.flock(alone, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"mutants: a run is under way in {tree}; wait for its end, or print --report")
        make_tree(tree)
    found = {}
    for line in record.read_text().splitlines() if record.exists() else []:
        found.update(json.loads(line))
    planted = [
        one
        for language, count in (("python", options.python), ("cpp", options.cpp))
        if count
        for one in sampled(list(all_mutants(tree, language)), count, options.seed)
        if not options.only or one.room in options.only
    ]
    settled = {"died", "no build"} if options.again else {"died", "survived", "undecided", "no build"}
    known = equivalents()
    left = [one for one in planted if found.get(one.name) not in settled and one.name not in known]
    covering = CoveringTests(tree, BUILD, environment(tree))
    if not options.report:
        require_sound_tests(tree, sorted({one.room for one in left if one.language == "cpp"}), options.limit)
        if any(one.language == "python" for one in left):
            covering.measure()
    for one in [] if options.report else left:
        found[one.name] = plant(tree, one, covering, options.limit)
        with record.open("a") as file:
            file.write(json.dumps({one.name: found[one.name]}) + "\n")
        print(f"{found[one.name]:10} {one.name}", flush=True)
    return 0 if report(found, planted) else 1


if __name__ == "__main__":
    sys.exit(main())
