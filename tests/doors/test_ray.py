# SPDX-License-Identifier: Apache-2.0
"""Ray's collectives on Hemiola, in real actors."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
import ray_actors as actors
from ray.experimental import internal_kv

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]  # Ray starts a cluster
ROOT = Path(__file__).parents[2]
ALL_OF_THREE = [
    {
        "allreduce": [6.0, 6.0],
        "allreduce max": [3.0, 2.0],
        "reduce": [6.0, 8.0] if rank == 1 else [rank + 1.0, 2.0],
        "broadcast": [1.0, 1.0, 1.0],
        "allgather": [[0.0, 0.0], [1.0, -1.0], [2.0, -2.0]],
        "reducescatter": [3.0 + 3 * rank, 3.0],
    }
    | ({"recv": [7.0] * 5} if rank == 2 else {})
    for rank in range(3)
]


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    with actors.cluster():
        yield


@pytest.fixture(scope="module")
def three(cluster: None) -> list[Any]:
    return [actors.Member.remote() for _ in range(3)]


@pytest.fixture(scope="module")
def group(three: list[Any]) -> str:
    actors.joined(three, "of three")
    return "of three"


@pytest.mark.parametrize(
    "make", [actors.as_numpy, actors.as_torch, actors.as_bfloat16, actors.as_columns, actors.as_every_second]
)
def test_every_operation_of_ray_is_right(three: list[Any], group: str, make: actors.Make) -> None:
    assert actors.called(three, "run", actors.all_operations(make), group) == ALL_OF_THREE


def test_several_groups_serve_at_once(three: list[Any], group: str) -> None:
    actors.joined(three[::-1], "turned round")
    found = actors.called(three, "run", actors.all_operations(actors.as_numpy), "turned round")
    assert found == ALL_OF_THREE[::-1]
    assert actors.called(three, "run", actors.all_operations(actors.as_numpy), group) == ALL_OF_THREE


def test_a_group_is_made_again_under_its_name_and_leaves_nothing(three: list[Any]) -> None:
    for _ in range(2):
        actors.joined(three, "again")
        found = actors.called(three, "run", actors.all_operations(actors.as_numpy), "again")
        assert found == ALL_OF_THREE
        actors.called(three, "leave", "again")
    assert not internal_kv._internal_kv_list("hemiola/groups/again")


def test_an_actor_that_dies_is_named_and_its_name_serves_again() -> None:
    members = [actors.Member.remote() for _ in range(3)]
    actors.joined(members, "mortal")
    running = [each.run.remote(actors.reduce_until_lost, "mortal") for each in members]
    time.sleep(1)
    died_at = time.time()
    ray.kill(members[2], no_restart=True)
    for kinds, text, at in ray.get(running[:2], timeout=actors.LIMIT_S):
        assert "LostRankError" in kinds
        assert "rank 2 has died" in text
        assert members[2]._actor_id.hex() in text
        assert at - died_at < 20
    actors.called(members[:2], "leave", "mortal")
    members[2] = actors.Member.remote()
    actors.joined(members, "mortal")
    assert actors.called(members, "run", actors.all_operations(actors.as_numpy), "mortal") == ALL_OF_THREE


def test_an_actor_that_does_not_come_is_named_and_leaves_no_trap() -> None:
    members = [actors.Member.remote() for _ in range(2)]
    with pytest.raises(TimeoutError, match=r"ranks \[1\] did not come within 1 s"):
        ray.get(members[0].join.remote(2, 0, "half", 1))
    with pytest.raises(TimeoutError, match=r"ranks \[0\] did not come within 1 s"):
        ray.get(members[1].join.remote(2, 1, "half", 1))
    actors.joined(members, "half")
    found = actors.called(members, "run", actors.all_operations(actors.as_numpy), "half")
    assert found[0]["allreduce"] == [3.0, 4.0]


def test_a_driver_that_declares_a_group_uses_it() -> None:
    import hemiola.ray

    hemiola.ray.register()
    hemiola.ray.register()  # again is without effect
    members = [actors.Member.remote() for _ in range(3)]
    ray.util.collective.create_collective_group(members, 3, [0, 1, 2], "HEMIOLA", "declared")
    found = ray.get([each.declared.remote("declared") for each in members], timeout=actors.LIMIT_S)
    assert found == [[6.0], [6.0], [6.0]]


def test_the_example_of_the_page_runs() -> None:
    page = (ROOT / "docs/how-to/ray.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    exec(compile(block, "docs/how-to/ray.md", "exec"), {"__name__": "example"})
