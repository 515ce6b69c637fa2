# SPDX-License-Identifier: Apache-2.0
"""What no plan can be made for: each is told in one sentence, by a typed error, before any work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hemiola as hm
from hemiola.errors import ArgumentError

NAN, INF = float("nan"), float("inf")
SWITCH = hm.topologies.switch(4, latency_s=5e-6, bandwidth=25e9)
RING = hm.algorithms.all_reduce_ring(4)
LINK = {"latency_s": 1e-6, "bandwidth": 1e9}

#: The entries that take a topology, a collective, a size and conditions.
ENTRIES: dict[str, Callable[..., Any]] = {
    "plan": hm.plan,
    "lower_bound": hm.lower_bound,
    "sweep": lambda topology, kind, nbytes, conditions=None, **more: hm.sweep(
        topology, kind, nbytes, "plan", conditions, **more
    ),
}
QUESTIONS: dict[str, dict[str, Any]] = {
    "a negative size": {"nbytes": -1},
    "a size that is NaN": {"nbytes": NAN},
    "a size that is infinite": {"nbytes": INF},
    "a size that is a text": {"nbytes": "64MiB"},
    "no size": {"nbytes": None},
    "a size beyond 2^63": {"nbytes": 1 << 63},
    "an unknown collective": {"kind": "all_redcue"},
    "no collective": {"kind": ""},
    "a topology that is a text": {"topology": "cluster.yaml"},
    "a negative root": {"kind": "broadcast", "root": -1},
    "a root beyond the last rank": {"kind": "broadcast", "root": 4},
    "a late rank that is not there": {"conditions": lambda: hm.Conditions(late={4: 1.0})},
    "a negative late rank": {"conditions": lambda: hm.Conditions(late={-1: 1.0})},
    "a slow rank that is not there": {"conditions": lambda: hm.Conditions(slow={9: 2.0})},
    "a NIC that is not there": {"conditions": lambda: hm.Conditions(slow={"nic:mlx5_7": 2.0})},
    "late by a negative time": {"conditions": lambda: hm.Conditions(late={1: -1.0})},
    "late by NaN": {"conditions": lambda: hm.Conditions(late={1: NAN})},
    "late for ever": {"conditions": lambda: hm.Conditions(late={1: INF})},
    "slow by NaN": {"conditions": lambda: hm.Conditions(slow={1: NAN})},
    "slow by less than 1": {"conditions": lambda: hm.Conditions(slow={1: 0.5})},
    "slow by a negative factor": {"conditions": lambda: hm.Conditions(slow={1: -2.0})},
    "a dead rank": {"conditions": lambda: hm.Conditions(slow={1: INF})},
    "a density of 0": {"conditions": lambda: hm.Conditions(density=0.0)},
    "a density of NaN": {"conditions": lambda: hm.Conditions(density=NAN)},
    "conditions that are a dictionary": {"conditions": {"late": {1: 1.0}}},
}


def refused(call: Callable[[], Any]) -> str:
    with pytest.raises(ArgumentError) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 400
    return text


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("case", QUESTIONS)
def test_a_question_that_cannot_be_is_refused_everywhere(entry: str, case: str) -> None:
    asked = {"topology": SWITCH, "kind": "all_reduce", "nbytes": 1024, **QUESTIONS[case]}
    made = asked.get("conditions")

    def call() -> Any:
        given = asked | ({"conditions": made()} if callable(made) else {})
        return ENTRIES[entry](given.pop("topology"), given.pop("kind"), given.pop("nbytes"), **given)

    refused(call)


SETTINGS: dict[str, dict[str, Any]] = {
    "an unknown network": {"network": "liquid"},
    "no effort": {"effort": 0.0},
    "a negative effort": {"effort": -1.0},
    "an effort of NaN": {"effort": NAN},
    "an infinite effort": {"effort": INF},
    "a negative speed of adding": {"combine_bandwidth": -1.0},
    "a speed of adding of NaN": {"combine_bandwidth": NAN},
    "a negative crowding": {"crowding": -0.1},
    "a crowding of NaN": {"crowding": NAN},
    "a negative cost of a message": {"shared_message_s": -1e-6},
    "an infinite cost of a message": {"shared_message_s": INF},
    "codecs of NaN": {"codecs": (NAN, 1e9, 1e9)},
}


@pytest.mark.parametrize("case", SETTINGS)
def test_a_setting_of_the_planner_that_cannot_be_is_refused(case: str) -> None:
    refused(lambda: hm.plan(SWITCH, "all_reduce", 1024, **SETTINGS[case]))


TABLES: dict[str, Any] = {
    "a negative entry": np.array([[0, -1], [1, 0]]),
    "entries that are no whole numbers": np.array([[0.0, 0.5], [1.0, 0.0]]),
    "entries that are NaN": np.array([[0.0, NAN], [1.0, 0.0]]),
    "too few rows": np.zeros((3, 4), np.int64),
    "too few columns": np.zeros((4, 3), np.int64),
    "one dimension": np.zeros(16, np.int64),
    "none at all": np.zeros((0, 0), np.int64),
}


@pytest.mark.parametrize("case", TABLES)
def test_a_table_of_sizes_that_cannot_be_is_refused(case: str) -> None:
    two = hm.topologies.switch(2, **LINK)
    topology = two if TABLES[case].shape == (2, 2) else SWITCH
    refused(lambda: hm.plan(topology, "all_to_all", TABLES[case]))


BUILDERS: dict[str, Callable[..., Any]] = {
    "ring": lambda **link: hm.topologies.ring(4, **link),
    "switch": lambda **link: hm.topologies.switch(4, **link),
    "fully_connected": lambda **link: hm.topologies.fully_connected(4, **link),
    "torus": lambda **link: hm.topologies.torus([2, 2], **link),
    "mesh": lambda **link: hm.topologies.mesh([2, 2], **link),
    "hypercube": lambda **link: hm.topologies.hypercube([2, 2, 2], **link),
    "dgx1": lambda **link: hm.topologies.dgx1(**link),
}
FIGURES: dict[str, dict[str, float]] = {
    "a negative latency": {"latency_s": -1e-6},
    "a latency of NaN": {"latency_s": NAN},
    "an infinite latency": {"latency_s": INF},
    "no bandwidth": {"bandwidth": 0.0},
    "a negative bandwidth": {"bandwidth": -1e9},
    "a bandwidth of NaN": {"bandwidth": NAN},
    "an infinite bandwidth": {"bandwidth": INF},
    "a negative cost of a message": {"message_s": -1e-6},
    "a cost of a message of NaN": {"message_s": NAN},
}


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("case", FIGURES)
def test_a_link_that_cannot_be_is_refused_by_every_builder(builder: str, case: str) -> None:
    refused(lambda: BUILDERS[builder](**{**LINK, **FIGURES[case]}))


@pytest.mark.parametrize("count", [0, -1, 1 << 40])
@pytest.mark.parametrize("builder", ["ring", "switch", "fully_connected"])
def test_a_rank_count_that_cannot_be_is_refused(builder: str, count: int) -> None:
    refused(lambda: getattr(hm.topologies, builder)(count, **LINK))


@pytest.mark.parametrize("nbytes", [-1, NAN, INF, "1", None, 1 << 63])
def test_a_size_that_cannot_be_is_not_simulated(nbytes: Any) -> None:
    refused(lambda: hm.simulate(RING, SWITCH, nbytes))
