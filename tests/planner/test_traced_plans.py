# SPDX-License-Identifier: Apache-2.0
"""A plan is read in few files, and its Python is short: the core does what takes long."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

import hemiola as hm

PACKAGE = str(Path(hm.__file__).parent)
MIB = 1 << 20


def switch() -> hm.Topology:
    return hm.topologies.switch(8, latency_s=5e-6, bandwidth=25e9)


def torus() -> hm.Topology:
    return hm.topologies.torus((4, 4), latency_s=1e-6, bandwidth=25e9)


#: Files of the package in which a function is called when a task is planned the second time, and Python calls, at most.
#: Around a late rank five more files make its trees.
CASES: dict[str, tuple[Callable[[], hm.Topology], hm.Conditions, int, int]] = {
    "switch": (switch, hm.Conditions(), 11, 1_500),
    "torus": (torus, hm.Conditions(), 12, 4_000),
    "slow": (switch, hm.Conditions(slow={0: 2.0}), 12, 2_000),
    "late": (torus, hm.Conditions(late={3: 1e-3}), 17, 7_500),
}


def calls_by_file(work: Callable[[], object]) -> Counter[str]:
    found: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            found[frame.f_code.co_filename] += 1

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize("case", CASES)
def test_a_plan_enters_few_files(case: str) -> None:
    make, conditions, most_files, most_calls = CASES[case]
    network = make()
    for _ in range(2):
        found = calls_by_file(lambda: hm.plan(network, "all_reduce", 64 * MIB, conditions))
    entered = {name.removeprefix(PACKAGE) for name in found if name.startswith(PACKAGE)}
    assert len(entered) <= most_files, sorted(entered)
    assert sum(found.values()) <= most_calls


@pytest.mark.parametrize(
    ("network", "kind"),
    [
        (hm.topologies.torus((8, 8), latency_s=1e-6, bandwidth=25e9), "all_reduce"),
        (hm.topologies.mesh((12, 12), latency_s=1e-6, bandwidth=25e9), "all_to_all"),
        (hm.topologies.switch(512, latency_s=5e-6, bandwidth=25e9), "all_reduce"),
    ],
    ids=["torus", "mesh", "switch"],
)
def test_no_plan_makes_a_hundred_thousand_python_calls(network: hm.Topology, kind: str) -> None:
    conditions = hm.Conditions(slow={1: 2.0})
    assert sum(calls_by_file(lambda: hm.plan(network, kind, 64 * MIB, conditions)).values()) < 100_000
