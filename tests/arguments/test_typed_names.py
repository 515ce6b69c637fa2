# SPDX-License-Identifier: Apache-2.0
"""The types of names hold what the registry and the core know, and functions still answer other texts themselves."""

from __future__ import annotations

import re

import numpy as np
import pytest

import hemiola as hm
from hemiola._core import op_meant
from hemiola.algorithms.registry import ENTRIES
from hemiola.arguments.names import KINDS, OPERATIONS

RING = hm.topologies.ring(4, latency_s=1e-6, bandwidth=1e9)


def test_collectives_are_those_of_the_registry_and_of_the_core() -> None:
    assert set(KINDS) == {algorithm.kind for algorithm in ENTRIES.values()}
    with pytest.raises(hm.ArgumentError) as refused:
        hm.Collective.make("none", 4, 4)
    (listed,) = re.findall(r"\((.*?)\)", str(refused.value))
    assert {*KINDS, "custom"} == set(listed.split(", "))


def listed_operations() -> str:
    with pytest.raises(hm.ArgumentError) as refused:
        hm.init().all_reduce(np.ones(4), op="none")
    return str(refused.value)


def test_operations_are_those_of_the_core() -> None:
    (told,) = hm.launch(listed_operations, 1, timeout_s=60)
    (listed,) = re.findall(r"an op of (.*), or a ", told)
    assert tuple(listed.split(", ")) == OPERATIONS
    assert [op_meant(op) for op in OPERATIONS] == list(OPERATIONS)
    assert op_meant("avg") == "average"


def test_a_collective_of_another_library_is_answered_with_ours() -> None:
    with pytest.raises(hm.ArgumentError, match="did you mean 'all_reduce'"):
        hm.plan(RING, "allreduce", 1024)
    with pytest.raises(hm.ArgumentTypeError, match="kind: expected text such as 'all_reduce', found 3"):
        hm.plan(RING, 3, 1024)
