# SPDX-License-Identifier: Apache-2.0
"""Programs of JAX, which know nothing of Hemiola, with Hemiola's collectives, by the ways of docs/how-to/jax.md."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax", reason="needs JAX (pip install 'hemiola[jax]')")

from jax_jobs import by_variable, ended, started

HERE = Path(__file__).parent
SUM = """
import sys, os, signal, time
import jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
jax.distributed.initialize(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), **options)
count, rank = jax.process_count(), jax.process_index()
mesh = Mesh(np.array(jax.devices()), ("x",))
x = jax.make_array_from_callback(
    (len(jax.devices()), 1000), NamedSharding(mesh, P("x")), lambda index: np.ones((1, 1000), np.float32)
)
total = jax.jit(jax.shard_map(lambda a: jax.lax.psum(a, "x"), mesh=mesh, in_specs=P("x"), out_specs=P("x")))

def say(*operations):
    # Prints what the first operation that fails says, and when; ends.
    began = time.monotonic()
    try:
        for operation in operations:
            operation().block_until_ready()
        print("no error", flush=True)
    except (jax.errors.JaxRuntimeError, ValueError) as error:  # JAX raises either
        print(error, "after", time.monotonic() - began, "s", flush=True)
    os._exit(0)  # JAX's own shutdown waits for a process that is dead
"""


def program(tmp_path: Path, text: str, options: str = "{}") -> str:
    path = tmp_path / "program.py"
    path.write_text(f"options = {options}\n" + SUM + text)
    return str(path)


@pytest.mark.parametrize(
    ("count", "cases"),
    [(2, 50), pytest.param(3, 50, marks=pytest.mark.long)],
)
def test_random_collectives_equal_numpys(count: int, cases: int) -> None:
    words = [str(HERE / "jax_collectives.py")]
    for code, output, errors in ended(started(words, count, ["1", str(cases)], by_variable())):
        assert (code, output) == (0, f"right: {cases}\n"), errors[-2000:]


@pytest.mark.long
def test_many_random_collectives_equal_numpys() -> None:
    words = [str(HERE / "jax_collectives.py")]
    for code, output, errors in ended(started(words, 2, ["2", "250"], by_variable())):
        assert (code, output) == (0, "right: 250\n"), errors[-2000:]


@pytest.mark.long
@pytest.mark.parametrize("count", [2, 4])
def test_a_training_equals_that_of_one_process(count: int) -> None:
    for code, output, errors in ended(started([str(HERE / "jax_training.py")], count, (), by_variable())):
        assert (code, output) == (0, "right\n"), errors[-2000:]


SAYS_WHOSE = """
total(x).block_until_ready()
print("wrapper" if "mpi_wrapper.so" in open("/proc/self/maps").read() else "gloo",
      jax.config.jax_cpu_collectives_implementation)
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("way", "whose"),
    [
        ("variable", "wrapper mpi"),
        ("module", "wrapper mpi"),
        ("import", "wrapper mpi"),
        ("none", "gloo gloo"),
    ],
)
def test_each_way_in_brings_hemiolas_collectives(tmp_path: Path, way: str, whose: str) -> None:
    path = program(tmp_path, SAYS_WHOSE)
    if way == "import":
        Path(path).write_text("import hemiola.jax\n" + Path(path).read_text())
    words = ["-m", "hemiola.jax", path] if way == "module" else [path]
    processes = started(words, 2, (), by_variable() if way == "variable" else None)
    assert [(code, output.splitlines()[-1]) for code, output, _ in ended(processes)] == [(0, whose)] * 2


def test_a_killed_process_is_named_at_once(tmp_path: Path) -> None:
    text = """
total(x).block_until_ready()
if rank == 2:
    os.kill(os.getpid(), signal.SIGKILL)
say(lambda: total(x))
"""
    results = ended(started([program(tmp_path, text)], 3, (), by_variable()))
    for _, output, errors in results[:2]:
        assert re.search(r"LostRankError: .*rank 2", output), (output, errors[-2000:])
        found = re.search(r"after ([0-9.]+) s", output)
        assert found is not None
        assert float(found.group(1)) < 5, "JAX's own heartbeat takes 100 s"
    assert results[2][0] == -signal.SIGKILL


@pytest.mark.long
@pytest.mark.parametrize(
    ("variables", "before"),
    [
        ({"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}, ""),
        ({}, "import jax\njax.config.update('jax_num_cpu_devices', 2)\n"),
    ],
)
def test_several_devices_of_a_process_are_refused(
    tmp_path: Path, variables: dict[str, str], before: str
) -> None:
    path = program(tmp_path, "say(lambda: total(x))\n")
    Path(path).write_text(before + Path(path).read_text())
    for _, output, errors in ended(started([path], 2, (), {**by_variable(), **variables})):
        assert "takes one CPU device a process, and this process has 2" in output, errors[-2000:]


@pytest.mark.long
def test_the_time_limit_of_xla_is_kept(tmp_path: Path) -> None:
    text = """
total(x).block_until_ready()
if rank == 1:
    time.sleep(8)
say(lambda: total(x))
"""
    variables = {**by_variable(), "XLA_FLAGS": "--xla_cpu_collective_timeout_seconds=2"}
    first = ended(started([program(tmp_path, text)], 2, (), variables))[0]
    assert re.search(r"TimeoutError: .*rank 1", first[1]), first


@pytest.mark.long
def test_groups_of_which_some_are_known_are_an_error_on_all(tmp_path: Path) -> None:
    text = """
def of_groups(groups):
    return jax.jit(jax.shard_map(lambda a: jax.lax.psum(a, "x", axis_index_groups=groups), mesh=mesh,
                                 in_specs=P("x"), out_specs=P("x"), check_vma=False))
of_groups([[0, 1], [2, 3]])(x).block_until_ready()
say(lambda: of_groups([[0, 1], [3, 2]])(x), lambda: of_groups([[1, 0, 3, 2]])(x))
"""
    for _, output, errors in ended(started([program(tmp_path, text)], 4, (), by_variable())):
        assert re.search("groups for different operations|has closed its communicator", output), (
            output,
            errors[-2000:],
        )


def test_a_program_of_one_process_needs_no_others() -> None:
    text = "import hemiola.jax, jax; print(jax.numpy.ones(3).sum())"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "3.0\n"), done.stderr


def test_the_library_has_every_name_that_the_installed_jaxlib_looks_for() -> None:
    text = """
import ctypes
from hemiola.jax import wrapper
from hemiola.environment.jaxlib import names_of_jaxlib
library = ctypes.CDLL(str(wrapper.PATH))
names = names_of_jaxlib()
print(len(names) > 500, [name for name in names if not hasattr(library, name)])
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
    assert done.stdout == "True []\n", done.stderr
