# SPDX-License-Identifier: Apache-2.0
"""The parts of an elastic training that one process shows: its state in words, seats in a mesh, groups at a store."""

from __future__ import annotations

import pickle
import uuid
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
import torch
from of_pytorch import needs_fsdp2
from torch import distributed as dist
from torch import nn

import hemiola as hm
from hemiola.torch.elastic import Training, next_group
from hemiola.torch.elastic_state import State, _read


@pytest.fixture
def comm() -> Any:
    with hm.Communicator.join(0, 1, f"elastic-{uuid.uuid4().hex}") as alone:
        yield alone


class Holder:
    def __init__(self, state: Any) -> None:
        self.state = state

    def state_dict(self) -> Any:
        return self.state

    def load_state_dict(self, state: Any) -> None:
        self.state = state


def test_words_that_would_make_an_object_are_refused() -> None:
    assert _read(pickle.dumps({"a": [1, (2.0, "b")]}), 0) == {"a": [1, (2.0, "b")]}
    for words in (pickle.dumps({"a": Counter()}), b"", b"no words", pickle.dumps([1])):
        with pytest.raises(hm.FormatError, match="rank 3"):
            _read(words, 3)


def test_a_state_that_cannot_be_told_is_refused_with_its_place(comm: hm.Communicator) -> None:
    with pytest.raises(hm.ArgumentError, match=r"found object at 'mine\.a\.1'"):
        State({"mine": Holder({"a": [1, object()]})}).heal(comm, 0)
    with pytest.raises(hm.ArgumentError, match="found int as 'mine'"):
        State({"mine": 3})


def test_a_training_makes_the_default_group_itself(comm: hm.Communicator) -> None:
    module = nn.Linear(2, 1)
    sizes: list[int] = []
    training = Training(comm, module, torch.optim.SGD(module.parameters(), lr=0.1), on_change=sizes.append)
    try:
        assert dist.get_world_size() == 1
        assert sizes == [1]
        with pytest.raises(hm.ArgumentError, match="found one; it makes its own"):
            Training(comm, module, None)

        def wrong(model: Any, step: int) -> None:
            raise ValueError("a mistake")

        with pytest.raises(ValueError, match="a mistake"):
            next(training.steps(wrong, until=1))
        assert training.step == 0
    finally:
        dist.destroy_process_group()


@needs_fsdp2
@pytest.mark.parametrize(
    ("held", "shards", "expected"),
    [
        ([0, 1, 0, 1], 2, [(0, 0), (0, 1), (1, 0), (1, 1)]),
        ([1, 0, 1], 2, [(0, 1), (0, 0), None]),  # one that holds is spare
        ([1, 0, 1, -1], 2, [(0, 1), (0, 0), (1, 1), (1, 0)]),  # a newcomer takes what is missing
        ([0, 0, 0, 1], 2, [(0, 0), (1, 0), (1, 1), (0, 1)]),  # one changes its shard
        ([0, 1], 3, [None, None]),
        ([-1, 0], 1, [(1, 0), (0, 0)]),
    ],
)
def test_ranks_are_seated_in_whole_replicas_and_keep_their_shards(
    held: list[int], shards: int, expected: list[Any]
) -> None:
    from hemiola.torch.elastic_sharded import seats_for

    assert seats_for(held, shards) == expected


def test_groups_at_a_store_follow_one_another() -> None:
    limit, store = timedelta(seconds=30), dist.HashStore()
    first: Any = next_group(dist.PrefixStore("1", store), 0, 1, limit)
    first.abort()
    second: Any = next_group(dist.PrefixStore("2", store), 0, 1, limit, first)
    assert second._comm._session is first._comm._session
    anew: Any = next_group(dist.PrefixStore("3", store), 0, 1, limit)
    assert anew._comm._session is not first._comm._session
    x = torch.ones(3)
    for group in (second, anew):
        group.allreduce([x]).wait()
        group.shutdown()
    assert x.tolist() == [1, 1, 1]
