# SPDX-License-Identifier: Apache-2.0
"""The package's style, as far as it can be counted: short functions, one type for one name, citations that resolve, and
docstrings that say what a caller must know."""

import ast
import inspect
import io
import operator
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from prose import SECTION

import hemiola
import hemiola.doctor
import hemiola.synthesis.optimal

ROOT = Path(__file__).resolve().parents[2]
MOST_LINES = 70
CONTROL_FLOW = (ast.If, ast.For, ast.While, ast.Try, ast.With, ast.Match)
#: [tutte1961; ForestColl, §5]: keys, each perhaps with the place. A key has a year or a capital inside, or a place.
KEY = r"(?:[A-Za-z]+\d{4}\w*|[A-Z][A-Za-z]*[A-Z]\w*|[A-Za-z]\w+(?=,\s(?:§|Algorithm|Appendix|Fig|Lemma|Table|Theorem)))"
PLACE = r"(?:,\s[^\[\];]*)?"
CITATION = re.compile(rf"\[({KEY}{PLACE}(?:;\s+(?://\s+)?{KEY}{PLACE})*)\](?!\()")


def code_lines(function: ast.FunctionDef) -> int:
    """Count from the first statement behind the docstring to the end."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (function.end_lineno or 0) - body[0].lineno + 1 if body else 0


def is_table(function: ast.FunctionDef) -> bool:
    """Rows and nothing else: however long, it is read from the top to the bottom."""
    return not any(isinstance(node, CONTROL_FLOW) for node in ast.walk(function))


def trees(*folders: str) -> Iterator[tuple[Path, ast.Module]]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT), ast.parse(path.read_text())


def test_no_python_function_is_longer_than_70_lines_but_for_tables() -> None:
    found = [
        (path, node)
        for path, tree in trees("python", "papers", "tests", "benchmarks", "scripts", "examples")
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    ]
    assert len(found) > 1000, "expected to find the package's functions"
    too_long = [(path, f) for path, f in found if code_lines(f) > MOST_LINES and not is_table(f)]
    assert not too_long, "split: " + ", ".join(
        f"{path}:{f.lineno}: {f.name} ({code_lines(f)})" for path, f in too_long
    )


def test_rooms_define_no_two_types_of_one_name() -> None:
    places: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path, tree in trees("python"):
        room = path.parts[2] if len(path.parts) > 3 else ""
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[room, node.name].append(f"{path}:{node.lineno}")
    assert len(places) > 50, "expected to find the package's types"
    twice = [f"{name}: {' and '.join(where)}" for (_, name), where in places.items() if len(where) > 1]
    assert not twice, "rename one, or merge them: " + "; ".join(twice)


def writes_a_file(call: ast.Call) -> bool:
    """`open` in a mode that writes, and the methods that write to a path."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    modes = [text for node in ast.walk(call) if isinstance(text := getattr(node, "value", None), str)]
    return name in {"write_text", "write_bytes"} or (
        name == "open" and any(re.fullmatch(r"[wax][bt+]*", mode) for mode in modes)
    )


#: Open a named pipe, through which ranks report; write to a control group; write a gigabyte in pieces.
PIPES = {
    Path("python/hemiola/measure/reports.py"),
    Path("benchmarks/diagnosis.py"),
    Path("benchmarks/large_traces.py"),
}


def test_files_are_written_in_one_place_alone() -> None:
    """`write_whole` leaves the old file where a new one cannot be finished; what writes past it does not."""
    found = [
        f"{path}:{node.lineno}"
        for path, tree in trees("python", "papers", "benchmarks")
        for node in ast.walk(tree)
        if path not in PIPES
        and "tests" not in path.parts
        and isinstance(node, ast.Call)
        and writes_a_file(node)
    ]
    assert not found, f"use hemiola.whole_file.write_whole: {found}"


def prose(path: Path) -> str:
    """Return the comments and texts of a source, in which papers are cited."""
    source = path.read_text()
    if path.suffix != ".py":
        return "\n".join(re.findall(r"//.*$", source, re.M) + re.findall(r'R"\((.*?)\)"', source, re.S))
    kinds = (tokenize.COMMENT, tokenize.STRING)
    return "\n".join(
        t.string for t in tokenize.generate_tokens(io.StringIO(source).readline) if t.type in kinds
    )


def test_every_citation_is_in_the_bibliography() -> None:
    keys = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "docs" / "references.bib").read_text(), re.MULTILINE))
    sources = [*ROOT.glob("src/**/*.[ch]pp"), *ROOT.glob("python/**/*.py"), *ROOT.glob("papers/**/*.py")]
    cited = {
        (key.split(",")[0].strip(" /\n"), str(path.relative_to(ROOT)))
        for path in sources
        for citation in CITATION.findall(prose(path))
        for key in citation.split(";")
    }
    assert len({key for key, _ in cited}) > 20, "expected to find the sources' citations"
    unknown = {place for place in cited if place[0] not in keys}
    assert not unknown, f"add to docs/references.bib: {unknown}"


#: Whatever they are given, they take.
NEVER_RAISES = {
    "hemiola.algorithms.Algorithm.candidates",
    "hemiola.algorithms.Algorithm.is_valid",
    "hemiola.algorithms.Algorithm.why_not",
    "hemiola.Communicator.abort",
    "hemiola.FailedRankError",
    "hemiola.LostRankError",
    "hemiola.MinorityError",
    "hemiola.communicator.Health.of",
    "hemiola.units.format_bandwidth",
    "hemiola.units.format_bytes",
    "hemiola.units.format_seconds",
}
#: Their makers are `init` and the collectives; nobody else calls the class.
MADE_FOR_PEOPLE = {"hemiola.Communicator", "hemiola.Handle"}


def public_functions() -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield name and signature of what docs/reference/public_names.txt lists; a class stands for its making."""
    for line in (ROOT / "docs/reference/public_names.txt").read_text().splitlines():
        if found := re.match(r"\s*(?:static )?(hemiola[\w.]+)(\(.*)$", line):
            (signature,) = ast.parse(f"def function{found[2]}: ...").body
            assert isinstance(signature, ast.FunctionDef)
            yield found[1].removesuffix(".__init__"), signature


def sections_wanted(name: str, signature: ast.FunctionDef) -> Iterator[str]:
    arguments = signature.args
    given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    if any(argument.arg not in ("self", "cls") for argument in given):
        yield "Parameters"
        if name not in NEVER_RAISES:
            yield "Raises"
    if signature.returns is not None and ast.unparse(signature.returns) != "None":
        yield "Returns"


def sections_of(name: str) -> set[str]:
    """Return the sections of a docstring, and of the one that it says its parameters and exceptions are those of."""
    doc = inspect.getdoc(operator.attrgetter(name.removeprefix("hemiola."))(hemiola)) or ""
    shared = re.search(r"Parameters, exceptions and notes are those of `(\w+)`", doc)
    borrowed = sections_of(f"{name.rpartition('.')[0]}.{shared[1]}") - {"Returns"} if shared else set()
    return borrowed | set(re.findall(r"^(\w+)\n-{4,}$", doc, re.MULTILINE))


def test_public_functions_say_parameters_returns_and_raises() -> None:
    found = {name: signature for name, signature in public_functions() if name not in MADE_FOR_PEOPLE}
    assert len(found) > 100, "expected to find the public functions"
    missing = {
        name: set(sections_wanted(name, signature)) - sections_of(name) for name, signature in found.items()
    }
    lacking = [f"{name}: {', '.join(sorted(sections))}" for name, sections in missing.items() if sections]
    assert not lacking, "complete the docstrings of " + "; ".join(lacking)


def parts_of(name: str) -> dict[str, str]:
    """Return the sections of a public docstring by their titles, and its beginning by an empty one."""
    doc = inspect.getdoc(operator.attrgetter(name.removeprefix("hemiola."))(hemiola)) or ""
    first, *sections = SECTION.split(doc)
    return {"": first, **dict(zip(sections[::2], sections[1::2], strict=True))}


def described_arguments(name: str) -> dict[str, str]:
    """Return what a docstring says of each argument that its `Parameters` name."""
    terms = re.findall(r"^([\w*, ]+) : (.*\n?(?:(?: +.*)?\n)*)", parts_of(name).get("Parameters", ""), re.M)
    return {one.strip(): text for names, text in terms for one in names.split(",")}


#: Words of which a docstring has one for each argument of such a name, or refers to another docstring with "as".
UNITS = {
    r"\w+_s": "second|text such",
    r"nbytes|buffer_bytes|\w+_bytes": "byte",
    r"bandwidth": "byte|only their ratio",
    r"x|out": "array|memory|bytes",
}


def test_public_docstrings_name_every_argument_with_its_unit_or_shape() -> None:
    found = {name: signature for name, signature in public_functions() if name not in MADE_FOR_PEOPLE}
    lacking = []
    for name, signature in found.items():
        described = described_arguments(name)
        if not described:
            continue  # it has none, or says whose they are: see the test above
        given = signature.args
        for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs):
            text = described.get(argument.arg)
            if text is None:
                if argument.arg not in ("self", "cls") and "those of `" not in parts_of(name)[""]:
                    lacking.append(f"{name}: {argument.arg} is missing")
                continue
            for pattern, words in UNITS.items():
                if re.fullmatch(pattern, argument.arg) and not re.search(rf"\bas \S|{words}", text):
                    lacking.append(f"{name}: {argument.arg} has no unit or shape")
    assert not lacking, "complete the docstrings of " + "; ".join(lacking)


#: Calls whose cost depends on the schedule: `plan` chooses it.
PLANNED = re.compile(
    r"hemiola\.(?:plan|lower_bound|simulate|verify|synthesis\.\w+)"
    r"|hemiola\.Communicator\.(?:all_|reduce|gather|scatter|broadcast|custom|barrier)\w*"
)


def test_collectives_plans_and_algorithms_have_cost_and_source() -> None:
    lacking = []
    for name, signature in public_functions():
        parts, shared = parts_of(name), sections_of(name)
        if PLANNED.fullmatch(name) and "Notes" not in shared and name[-1:].islower():
            lacking.append(f"{name}: Notes with its cost")
        makes = signature.returns is not None and ast.unparse(signature.returns) == "Schedule"
        if makes and re.fullmatch(r"hemiola\.algorithms\.[a-z]\w+", name):
            text = parts[""] + parts.get("Notes", "")
            if not re.search(r"\[\w[^\]]*\]|\b[Oo]urs\b", text):
                lacking.append(f"{name}: its source")
            if not re.search(r"step|round|β|bandwidth|time|bytes|α", text):
                lacking.append(f"{name}: its cost")
    assert not lacking, "complete the docstrings of " + "; ".join(lacking)


def test_modules_of_the_tests_have_names_of_their_own():
    # pytest imports them by their base names: of two, it runs one.
    names = [
        path.name
        for folder in ("tests", "papers/tests")
        for path in (ROOT / folder).rglob("*.py")
        if path.name != "conftest.py"
    ]
    assert len(names) > 150
    assert [name for name in sorted(set(names)) if names.count(name) > 1] == []
