# SPDX-License-Identifier: Apache-2.0
"""The package as people see it from outside: its names, its rooms, and functions that share a room's name."""

import importlib
import importlib.metadata
import pickle
import re
import subprocess
import sys
from pathlib import Path

import hemiola as hm

ROOT = Path(__file__).resolve().parents[2]
#: What the root of the package may hold before it is no longer drawn from `ls`.
MOST_MODULES = 12


def test_dir_shows_the_public_names_and_nothing_else() -> None:
    listed = re.findall(
        r"^(?:class )?hemiola\.(\w+)(?=[(: ]|$)", (ROOT / "docs/reference/public_names.txt").read_text(), re.M
    )
    assert dir(hm) == sorted(hm.__all__) == sorted(set(listed))  # overloads have a line each
    assert all(getattr(hm, name) is not None for name in hm.__all__)


def test_the_version_is_the_installed_package_and_the_command_line_says_it() -> None:
    assert hm.__version__ == importlib.metadata.version("hemiola")
    for command in (["-m", "hemiola"], ["-m", "hemiola.cli"]):
        said = subprocess.run(
            [sys.executable, *command, "--version"], check=True, timeout=60, capture_output=True, text=True
        )
        assert said.stdout == f"hemiola {hm.__version__}\n"


def test_every_error_stands_at_the_root() -> None:
    own = {name for name, value in vars(hm.errors).items() if isinstance(value, type)}
    assert own <= set(hm.__all__)
    assert all(getattr(hm, name) is getattr(hm.errors, name) for name in own)


def test_the_root_of_the_package_holds_few_modules() -> None:
    modules = sorted(path.name for path in (ROOT / "python/hemiola").glob("*.py"))
    assert len(modules) <= MOST_MODULES, modules


def test_functions_keep_their_names_whatever_is_imported_first() -> None:
    for module in ("hemiola.launch.rank", "hemiola.simulate", "hemiola.verify", "hemiola.planner.planning"):
        script = (
            f"import {module}, hemiola as hm; assert all(map(callable, (hm.launch, hm.simulate, hm.verify)))"
        )
        subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_functions_and_types_travel_between_processes() -> None:
    assert pickle.loads(pickle.dumps(hm)) is hm  # as cloudpickle does with what a function uses
    for name in ("launch", "simulate", "verify", "plan", "synthesize", "Conditions", "Plan", "Timeline"):
        value = getattr(hm, name)
        assert pickle.loads(pickle.dumps(value)) is value
    assert importlib.import_module("hemiola.launch") is sys.modules["hemiola.launch"]


def test_importing_the_package_imports_none_of_its_rooms() -> None:
    code = (
        "import sys, hemiola; print([name for name in sys.modules if name.startswith(('hemiola.', 'numpy'))])"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, timeout=60, capture_output=True, text=True)
    assert ran.stdout == "[]\n"
