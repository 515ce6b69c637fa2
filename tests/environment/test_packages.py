# SPDX-License-Identifier: Apache-2.0
"""A package that only some parts need is an extra, and whoever lacks it reads its name."""

from __future__ import annotations

import ast
import itertools
import json
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import without_extras

import hemiola as hm
from hemiola.environment.packages import EXTRAS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
#: Where a package is imported by another name than it is installed.
INSTALLED_AS = {
    "google": "protobuf",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
    "prometheus_client": "prometheus-client",
}
OWN = {"hemiola", "hemiola_autoload"}
#: Modules that nobody imports without their extra; all others import without any.
NEED_EXTRAS = (
    "hemiola.demo.show",
    "hemiola.dask",
    "hemiola.jax",
    "hemiola.lightgbm",
    "hemiola.ray",
    "hemiola.torch",
    "hemiola.topology.graphs",
    *(
        f"hemiola.view.{name}"
        for name in (
            "arrivals",
            "losses",
            "over_sizes",
            "sizes",
            "step_arrows",
            "steps",
            "style",
            "swept",
            "timeline",
            "times",
            "topology",
            "training_step",
        )
    ),
)


def names_of(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=!~\[; ]", requirement)[0] for requirement in requirements}


def imported() -> set[str]:
    """Return the packages that any module of Hemiola imports, by statement or by `optional`."""
    found = set()
    for path in (ROOT / "python").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Import(names=names):
                    found |= {alias.name.partition(".")[0] for alias in names}
                case ast.ImportFrom(module=str(module), level=0):
                    found.add(module.partition(".")[0])
                case ast.Call(func=ast.Name("optional" | "require"), args=[ast.Constant(str(module))]):
                    found.add(module.partition(".")[0])
    return found - OWN - sys.stdlib_module_names


def test_every_imported_package_is_declared() -> None:
    always = names_of(PROJECT["dependencies"])
    for package in imported():
        installed = INSTALLED_AS.get(package, package)
        extra = EXTRAS.get(package)
        declared = always if extra is None else names_of(PROJECT["optional-dependencies"][extra])
        assert installed in declared, f"pyproject.toml: declare {installed}"


def demanded(nodes: Iterable[ast.AST]) -> dict[str, int]:
    """Return the packages that `require` or `optional` demands among these nodes, with the first line that does."""
    found: dict[str, int] = {}
    for node in itertools.chain.from_iterable(map(ast.walk, nodes)):
        match node:
            case ast.Call(func=ast.Name("optional" | "require"), args=[ast.Constant(str(module))]):
                found.setdefault(module.partition(".")[0], node.lineno)
    return found


def of_module(tree: ast.Module) -> list[ast.stmt]:
    """Return what runs when a module is imported."""
    return [node for node in tree.body if not isinstance(node, (ast.FunctionDef, ast.ClassDef))]


def undemanded(source: str, demanded_above: Collection[str]) -> Iterator[str]:
    """Yield imports of extras' packages that nothing demands before, in their scopes or in a package above."""
    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        around = [node]
        while around[-1] in parents:
            around.append(parents[around[-1]])
        if any(isinstance(one, ast.If) and ast.unparse(one.test) == "TYPE_CHECKING" for one in around):
            continue
        scopes = [one.body for one in around if isinstance(one, ast.FunctionDef)] + [of_module(tree)]
        for package in {module.partition(".")[0] for module in modules} & EXTRAS.keys() - set(demanded_above):
            if not any(demanded(scope).get(package, node.lineno) < node.lineno for scope in scopes):
                yield f"line {node.lineno}: {ast.unparse(node)}"


def test_every_package_of_an_extra_is_demanded_before_it_is_imported() -> None:
    package = ROOT / "python/hemiola"
    paths = sorted(package.rglob("*.py"))
    doors = {
        path.parent: demanded(of_module(ast.parse(path.read_text())))
        for path in paths
        if path.name == "__init__.py"
    }
    found = {}
    for path in paths:
        above = [doors.get(folder, {}) for folder in path.parents if path != folder / "__init__.py"]
        lines = list(undemanded(path.read_text(), set().union(*above)))
        found |= {str(path.relative_to(package)): lines} if lines else {}
    assert len(paths) > 300
    assert found == {}


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("import torch", 1),
        ("from matplotlib.axes import Axes", 1),
        ("def draw():\n    import matplotlib", 1),
        ("import torch\nrequire('torch')", 1),
        ("require('torch')\nimport torch", 0),
        ("def draw():\n    require('matplotlib')\n    import matplotlib", 0),
        ("if TYPE_CHECKING:\n    import torch", 0),
        ("def draw():\n    require('matplotlib')\ndef other():\n    import matplotlib", 1),
        ("import numpy", 0),
    ],
)
def test_an_import_that_nothing_demands_is_found(source: str, count: int) -> None:
    assert len(list(undemanded(source, ()))) == count


def test_no_extra_is_named_in_vain() -> None:
    assert EXTRAS.keys() <= imported()


#: Packages that need another extra's.
NEEDED_BY = {"google": ["ray"]}
#: Hidden together.
HIDDEN = [[name, *NEEDED_BY.get(name, ())] for name in EXTRAS] + [list(EXTRAS)]


@pytest.fixture(scope="module")
def without() -> list[dict[str, Any]]:
    """What fails without each of these."""
    command = [sys.executable, str(Path(without_extras.__file__)), *map(",".join, HIDDEN)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert ended.returncode == 0, ended.stderr
    found: list[dict[str, Any]] = json.loads(ended.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("place", range(len(HIDDEN)), ids=map("-".join, HIDDEN))
def test_every_module_imports_or_names_the_extra_that_it_lacks(
    without: list[dict[str, Any]], place: int
) -> None:
    answer, hidden = without[place], HIDDEN[place]
    assert answer["imported"] > 250
    advice = [f"pip install 'hemiola[{EXTRAS[package]}]'" for package in hidden]
    for module, failure in answer["failed"].items():
        assert failure.startswith("MissingPackageError: "), (module, failure)
        assert any(one in failure for one in advice), (module, failure)
    assert all(module.startswith(NEED_EXTRAS) for module in answer["failed"])


def test_a_rank_deep_in_a_job_names_the_extra_too() -> None:
    with pytest.raises(hm.FailedRankError) as failure:
        hm.launch(without_extras.name_the_missing, 2, ["sklearn"], timeout_s=120)
    assert "pip install 'hemiola[demo]'" in str(failure.value)


def as_built() -> list[str]:
    """Return the options with which pip takes the compiled core of this checkout into a wheel, where there is one."""
    caches = sorted(ROOT.glob("build/cp3*/CMakeCache.txt"), key=lambda path: path.stat().st_mtime)
    if not caches:
        return []
    (unity,) = re.findall(r"^HEMIOLA_UNITY:BOOL=(\w+)$", caches[-1].read_text(), re.MULTILINE)
    settings = (f"build-dir={caches[-1].parent}", f"cmake.define.HEMIOLA_UNITY={unity}")
    return ["--no-build-isolation", *(word for setting in settings for word in ("-C", setting))]


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_wheel_alone_imports_every_module_and_names_what_its_commands_lack(tmp_path: Path) -> None:
    def call(*words: str | Path, expected: int = 0) -> str:
        ended = subprocess.run(
            list(map(str, words)), capture_output=True, text=True, cwd=tmp_path, timeout=900
        )
        assert ended.returncode == expected, ended.stdout + ended.stderr
        return ended.stdout + ended.stderr

    call(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", *as_built(), "-w", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("hemiola*.whl")
    with zipfile.ZipFile(wheel) as opened:
        rooms = {name.split("/")[0] for name in opened.namelist()}
    assert {room for room in rooms if not room.endswith(".dist-info")} == OWN
    venv.create(tmp_path / "empty", with_pip=True)
    python = tmp_path / "empty/bin/python"
    call(python, "-m", "pip", "install", "-q", wheel)
    (answer,) = json.loads(call(python, "-I", without_extras.__file__, ""))
    assert answer["imported"] > 250
    for module, failure in answer["failed"].items():
        assert module.startswith(NEED_EXTRAS)
        assert re.search(
            r"pip install 'hemiola\[(dask|jax|lightgbm|ray|torch|pictures|networkx)\]'$", failure
        ), failure
    told = call(tmp_path / "empty/bin/hemiola", "reproduce", "spccl", expected=2)
    assert "python -m papers" in told
    assert len(told.splitlines()) == 1
    assert "pip install 'hemiola[torch]'" in call(tmp_path / "empty/bin/hemiola", "accelerate", expected=2)
    hm.topologies.ring(4, latency_s=1e-6, bandwidth=1e9).save(tmp_path / "ring.yaml")
    hemiola = tmp_path / "empty/bin/hemiola"
    assert "is chosen" in call(hemiola, "plan", "all_reduce", "ring.yaml", "1MiB")
    assert "MiB" in call(hemiola, "run", "all_reduce", "1MiB", "--ranks", "2", "--repeats", "3")
    assert "65536" in call(hemiola, "bench", "all_reduce", "-b", "64K", "-e", "64K", "-n", "2")
    told = call(hemiola, "view", "all_reduce_ring", "--ranks", "4", "--chart", "ring.png", expected=2)
    assert "pip install 'hemiola[pictures]'" in told
    told = call(python, "-c", "import hemiola as hm; hm.Topology.load('ring.yaml').to_networkx()", expected=1)
    assert "pip install 'hemiola[networkx]'" in told
    # Everything that plans: each condition, in a run whose ports get slow, and as an integer program.
    assert "toured" in call(python, Path(without_extras.__file__).with_name("bare_tour.py"))
