# SPDX-License-Identifier: Apache-2.0
"""Bad input through a door raises the framework's own kind of exception. Its sentence is ours: it says what was
expected, what was found, and what to do."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_jobs import mistakes_of, on_host
from c_library import Library
from told import Told, told

import hemiola as hm
from hemiola.environment.packages import EXTRAS

HERE = Path(__file__).parent
#: What each rank raises, by the mistake.
Mistakes = Mapping[str, list[Told]]
TYPE, SHAPE, AGAIN, MISSING = (
    "an unsupported type",
    "unequal shapes",
    "a second initialization",
    "a missing package",
)


@dataclass(frozen=True)
class Case:
    """A mistake, the exception that each rank raises, and parts of its sentence: expected, found, and what to do.

    `code` is a program whose end raises it. Other mistakes are made by the door's ranks.
    """

    door: str
    kind: str
    mistake: str
    raises: str
    expected: str
    found: str
    remedy: str
    code: str = ""

    def __str__(self) -> str:
        return f"{self.door}: {self.mistake}"


def without(package: str) -> Case:
    """Return the case of a door whose package is not installed."""
    hidden = f"import sys; sys.modules['{package}'] = None; import hemiola.{EXTRAS[package]}"
    sentence = (
        f"the package {package}",
        "is not installed here",
        f"pip install 'hemiola[{EXTRAS[package]}]'",
    )
    door = {"distributed": "dask"}.get(package, package)
    return Case(door, MISSING, f"no {package}", "ModuleNotFoundError", *sentence, hidden)


_CALLS = "every rank must make the same calls in the same order"
CASES = [
    Case("jax", TYPE, "a sum of int2", "TypeError", "at least 4 bits", "found int2", "x.astype("),
    Case("jax", TYPE, "a move of uint2", "TypeError", "at least 4 bits", "found uint2", "x.astype("),
    Case("jax", SHAPE, "unequal sizes", "JaxRuntimeError", "float32[10]", "float32[11]", _CALLS),
    Case(
        *("jax", AGAIN, "an import behind jax", "ImportError"),
        *("expected", "jax is imported already", "Import hemiola.jax before jax"),
        code="import jax; import hemiola.jax",
    ),
    without("jax"),
    Case(
        "lightgbm", TYPE, "no communicator", "TypeError", "a Communicator", "found 'ranks' (str)", "hm.init()"
    ),
    Case("lightgbm", SHAPE, "unequal trees", "LightGBMError", "all_to_all", "all_gather", _CALLS),
    Case("lightgbm", AGAIN, "two networks", "LightGBMError", "expected", "found one", "Leave its with block"),
    without("lightgbm"),
    Case("ray", TYPE, "strings", "ValueError", "expected a dtype of", "found one with the format", "float32"),
    Case("ray", TYPE, "no memory", "ValueError", "expected a NumPy array", "found Tensor on meta", ".cpu()"),
    Case("ray", TYPE, "sparse", "ValueError", "dense torch tensor", "sparse_coo", ".to_dense()"),
    Case("ray", SHAPE, "unequal sizes", "RuntimeError", "float32[3]", "float32[4]", _CALLS),
    Case("ray", SHAPE, "unequal types", "RuntimeError", "float32[3]", "float64[3]", _CALLS),
    Case("ray", AGAIN, "a group twice", "RuntimeError", "expected", "found", "destroy_collective_group"),
    without("ray"),
    Case(
        "dask", TYPE, "strings", "ValueError", "expected a dtype of", "found one with the format", "float32"
    ),
    Case("dask", TYPE, "no arrays", "ValueError", "expected an array", "found str", "NumPy's"),
    Case("dask", SHAPE, "unequal sizes", "ValueError", "float64[2]", "float64[3]", _CALLS),
    Case("dask", AGAIN, "a plugin twice", "ValueError", "expected", "found", "make a new one"),
    without("distributed"),
    Case("mpi", TYPE, "no buffer", "HemiolaError", "expected an array", "found object", "Lower-case calls"),
    Case("mpi", TYPE, "strings", "HemiolaError", "expected a dtype of", "found one with", "Lower-case calls"),
    Case("mpi", TYPE, "not contiguous", "HemiolaError", "contiguous", "found", "pass a copy"),
    Case("mpi", SHAPE, "unequal sizes", "HemiolaError", "float64[3]", "float64[4]", _CALLS),
    Case("mpi", SHAPE, "a message that is too long", "HemiolaError", "expected", "found", "pass a longer"),
    Case("mpi", SHAPE, "a buffer that ranks cannot share", "HemiolaError", "expected", "found 7", "pass"),
    Case("mpi", AGAIN, "Init", "HemiolaError", "expected", "found", "Leave"),
    Case("mpi", MISSING, "mpi4py.futures", "ImportError", "expected", "mpi4py.futures", "with MPI"),
    Case("c", TYPE, "bad type", "HEMIOLA_INVALID", "expected a type", "found 99", "of hemiola_type"),
    Case("c", SHAPE, "other count", "HEMIOLA_MISMATCH", "float32[1]", "float32[2]", _CALLS),
    Case("c", AGAIN, "second init", "HEMIOLA_INVALID", "has joined", "already", "close it first"),
]


def needed(package: str) -> None:
    """Skip where a door's package is not installed."""
    pytest.importorskip(package, reason=f"needs {package} (pip install 'hemiola[{EXTRAS[package]}]')")


def by_mistake(ranks: list[dict[str, Any]]) -> Mistakes:
    """Turn what each rank says into what ranks say of each mistake."""
    return {mistake: [rank[mistake] for rank in ranks] for mistake in ranks[0]}


@pytest.fixture(scope="module")
def jax_says() -> Mistakes:
    needed("jax")
    from jax_jobs import by_variable, ended, started

    ranks = ended(started([str(HERE / "jax_wrong.py")], 2, (), by_variable()))
    assert [code for code, _, _ in ranks] == [0, 0], ranks
    return by_mistake([json.loads(output.splitlines()[-1]) for _, output, _ in ranks])


@pytest.fixture(scope="module")
def lightgbm_says() -> Mistakes:
    needed("lightgbm")
    import boosting_ranks

    return by_mistake(hm.launch(boosting_ranks.make_mistakes, 2, timeout_s=60))


@pytest.fixture(scope="module")
def mpi_says() -> Mistakes:
    launch = [sys.executable, "-m", "hemiola", "launch", "-n", "3", sys.executable, "-m", "hemiola.mpi"]
    ended = subprocess.run([*launch, HERE / "mpi_wrong.py"], capture_output=True, text=True, timeout=200)
    lines = sorted(line.partition(" ") for line in ended.stdout.splitlines())
    assert [rank for rank, _, _ in lines] == ["[0]", "[1]", "[2]"], ended.stdout + ended.stderr
    return by_mistake([json.loads(said) for _, _, said in lines])


@pytest.fixture(scope="module")
def dask_says() -> Mistakes:
    needed("distributed")
    import dask_tasks as tasks

    from hemiola.dask import CommunicatorPlugin, run

    odd = {
        "strings": [np.array(["a"])] * 3,
        "unequal sizes": [np.ones(2), np.ones(3), np.ones(2)],
        "no arrays": ["text"] * 3,
    }
    with tasks.client_of_three() as client:
        said = {}
        for mistake, arrays in odd.items():
            client.register_plugin(plugin := CommunicatorPlugin())
            said[mistake] = [told(partial(run, client, plugin, tasks.reduced_oddly, arrays))]
        said["a plugin twice"] = [told(partial(client.register_plugin, plugin))]
    return said


@pytest.fixture(scope="module")
def ray_says() -> Mistakes:
    needed("ray")
    needed("torch")
    import ray
    import ray_actors as actors
    import torch

    odd: dict[str, Callable[[int], Any]] = {
        "strings": lambda rank: np.array(["a"]),
        "no memory": lambda rank: torch.ones(3, device="meta"),
        "sparse": lambda rank: torch.ones(3).to_sparse(),
        "unequal sizes": lambda rank: np.ones(4 if rank == 1 else 3, np.float32),
        "unequal types": lambda rank: np.ones(3, np.float32 if rank else np.float64),
    }
    with actors.cluster():
        members = [actors.Member.remote() for _ in range(3)]
        actors.joined(members, "a group")
        said = {
            mistake: actors.called(members, "run", actors.reduce_oddly(make), "a group")
            for mistake, make in odd.items()
        }
        said["a group twice"] = [ray.get(members[0].make_again.remote("a group"), timeout=actors.LIMIT_S)]
    return said


@pytest.fixture(scope="module")
def c_says(library: Library, ranks: Path) -> Mistakes:
    """What rank 0 is told, which makes the mistakes."""
    names = {1: "HEMIOLA_INVALID", 2: "HEMIOLA_MISMATCH"}
    lines, _ = on_host(library, ranks, "bad", 2)
    return {mistake: [([names[code]], text)] for mistake, (code, text) in mistakes_of(lines[:-1]).items()}


def marked(case: Case) -> Any:
    """Ray starts a cluster, and actors that import PyTorch."""
    is_long = case.door == "ray" and not case.code
    return pytest.param(
        case, id=str(case), marks=[pytest.mark.long, pytest.mark.timeout(600)] if is_long else []
    )


@pytest.mark.parametrize("case", [marked(case) for case in CASES])
def test_bad_input_raises_the_frameworks_own_exception_with_our_sentence(
    case: Case, request: pytest.FixtureRequest
) -> None:
    if case.code:
        said = [raised_by(case.code)]
    else:
        mistakes: Mistakes = request.getfixturevalue(f"{case.door}_says")
        said = mistakes[case.mistake]
    for kinds, text in said:
        assert case.raises in kinds, (kinds, text)
        for part in (case.expected, case.found, case.remedy):
            assert part in text


def raised_by(code: str) -> Told:
    """Return what the end of a program raises in a process of its own."""
    program = f"import json, told; print(json.dumps(told.told(lambda: exec({code!r}))))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=HERE, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    kinds, text = json.loads(done.stdout)
    return kinds, text


def test_every_door_has_a_case_of_each_kind() -> None:
    has = {(case.door, case.kind) for case in CASES}
    doors = ("jax", "lightgbm", "ray", "dask", "mpi")
    in_c = {("c", kind) for kind in (TYPE, SHAPE, AGAIN)}  # a library in C needs no package
    assert has == {(door, kind) for door in doors for kind in (TYPE, SHAPE, AGAIN, MISSING)} | in_c
