# SPDX-License-Identifier: Apache-2.0
"""The table of sources: each is there once, and is asked only for tasks that concern it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import hemiola as hm
from hemiola import planner
from hemiola.algorithms import Task
from hemiola.planner.budget import Searches
from hemiola.planner.question import Question, traits_of
from hemiola.planner.sources import SOURCES, found
from hemiola.topology.port_speed import port_speed

LINK = {"latency_s": 1e-6, "bandwidth": 25e9}


def asked(network: hm.Topology, kind: str, conditions: hm.Conditions | None = None) -> Question:
    now = conditions or hm.Conditions()
    speed = port_speed(network, now)
    task = Task(kind, network.rank_count, 1 << 20, speed, now, 0, network)
    bound_s = hm.lower_bound(network, kind, 1 << 20, now).seconds
    return Question(task, network, bound_s, Searches(), traits=traits_of(task, network))


def concerned(question: Question) -> set[str]:
    return {source.make.__name__ for source in SOURCES if source.concerns(question)} - {"registered"}


def test_every_function_that_answers_a_question_is_a_row() -> None:
    answering = {
        node.name
        for path in Path(planner.__file__).parent.glob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
        if [ast.unparse(one.annotation or ast.Constant(0)) for one in node.args.args] == ["Question"]
    }
    assert sorted(source.make.__name__ for source in SOURCES) == sorted(answering - {"found"})


@pytest.mark.parametrize(
    ("network", "kind", "conditions", "sources"),
    [
        (hm.topologies.switch(8, **LINK), "all_reduce", hm.Conditions(), {"one_hop"}),
        (
            hm.topologies.switch(8, **LINK),
            "all_reduce",
            hm.Conditions(slow={1: 2.0}),
            {"one_hop", "in_segments"},
        ),
        (hm.topologies.switch(8, **LINK), "all_to_all", hm.Conditions(), set()),
        (
            hm.topologies.mesh((4, 4), **LINK),
            "all_reduce",
            hm.Conditions(late={1: 1.0}),
            {
                "around_late_rank",
                "on_mesh",
                "synthesized",
                "synthesized_if_cheap",
                "one_shot",
                "multiplying",
                "multiplying_by_factors",
                "swinging",
                "on_grid",
            },
        ),
        (
            hm.topologies.torus((4, 4), **LINK),
            "all_to_all",
            hm.Conditions(),
            {"synthesized", "synthesized_if_cheap", "far_first"},
        ),
        (
            hm.topologies.torus((4, 4), **LINK),
            "broadcast",
            hm.Conditions(),
            {"synthesized", "synthesized_if_cheap"},
        ),
    ],
    ids=["switch", "slow", "exchange", "mesh", "torus", "broadcast"],
)
def test_a_source_is_asked_where_it_concerns_the_task(
    network: hm.Topology, kind: str, conditions: hm.Conditions, sources: set[str]
) -> None:
    assert concerned(asked(network, kind, conditions)) == sources


def test_once_a_source_is_enough_nothing_is_searched_for() -> None:
    question = asked(hm.topologies.torus((4, 4), **LINK), "all_reduce")
    question.is_enough = True
    assert concerned(question) == {"one_shot", "multiplying", "multiplying_by_factors", "swinging"}


def test_schedules_race_in_their_places() -> None:
    question = asked(hm.topologies.mesh((3, 3), **LINK), "all_reduce")
    names = [one.name for one in found(question)[0]]
    assert (
        names.index("synthesized") < names.index("all_reduce_mesh_trees") < names.index("all_reduce_themis")
    )
