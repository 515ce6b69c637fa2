# SPDX-License-Identifier: Apache-2.0
"""What scripts/check_layers.py finds in made-up cores; `make check` runs it on the real one."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_layers.py"


@pytest.fixture(scope="module")
def layers() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_layers", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_an_include_downwards_is_fine(layers):
    core = {
        "base/a.hpp": [],
        "schedule/b.hpp": ["base/a.hpp", "vector"],
        "schedule/file/c.cpp": ["schedule/b.hpp"],
    }
    assert layers.violations(core) == []


@pytest.mark.parametrize(
    ("file", "header", "rule"),
    [
        ("schedule/b.hpp", "verify/v.hpp", "'schedule' must not include 'verify'"),
        ("schedule/b.hpp", "schedule/file/text.hpp", "'.' must not include 'file'"),
        ("synthesis/flood/f.hpp", "synthesis/delivery/d.hpp", "'flood' must not include 'delivery'"),
        ("algorithms/index/i.hpp", "algorithms/algorithm.hpp", "'index' must not include 'algorithm'"),
        ("simulate/s.hpp", "verify/v.hpp", "'simulate' must know nothing of 'verify'"),
        ("runtime/wire/wire.hpp", "runtime/control/control.hpp", "'wire' must not include 'control'"),
        ("runtime/new_room/x.hpp", "runtime/wire/wire.hpp", "is in no level"),
        ("runtime/wire/shm/a.hpp", "runtime/wire/emulated/b.hpp", "for runtime/wire/emulated/ alone"),
        ("runtime/communicator/communicator.cpp", "runtime/wire/shm/a.hpp", "for runtime/wire/shm/ alone"),
        ("base/a.hpp", "base/a.hpp", "circle: base/a.hpp > base/a.hpp"),
    ],
)
def test_what_points_the_wrong_way_is_named(layers, file, header, rule):
    found = layers.violations({header: [], file: [header]})
    assert len(found) == 1
    assert rule in found[0]


def test_implementations_are_seen_by_what_assembles_them_and_their_interfaces_by_all(layers):
    assembles = "runtime/communicator/connection.cpp"
    assert assembles in layers.ASSEMBLES
    core = {
        "runtime/wire/wire.hpp": [],
        "runtime/wire/shm/shm_wire.hpp": ["runtime/wire/wire.hpp"],
        "runtime/wire/shm/shm_wire.cpp": ["runtime/wire/shm/shm_wire.hpp"],
        "runtime/executor/program/program.hpp": [],
        "runtime/operation/plain.cpp": ["runtime/wire/wire.hpp", "runtime/executor/program/program.hpp"],
        assembles: ["runtime/wire/shm/shm_wire.hpp"],
    }
    assert layers.violations(core) == []


def test_a_circle_through_several_headers_is_shown_once(layers):
    core = {"base/a.hpp": ["base/b.hpp"], "base/b.hpp": ["base/c.hpp"], "base/c.hpp": ["base/a.hpp"]}
    assert layers.violations(core) == ["circle: base/a.hpp > base/b.hpp > base/c.hpp > base/a.hpp"]


def test_python_stays_in_the_bindings(layers):
    core = {"base/a.hpp": ["nanobind/nanobind.h"], "bindings/b.cpp": ["nanobind/nanobind.h"]}
    assert layers.violations(core) == ["base/a.hpp: the core knows no Python"]


def test_the_bindings_import_conversions_only(layers, tmp_path):
    (tmp_path / "b.cpp").write_text('import_("hemiola.errors"); import_("hemiola.planner");')
    assert list(layers.conversion_violations(tmp_path)) == [
        "bindings/b.cpp: the bindings must not import 'hemiola.planner'"
    ]
