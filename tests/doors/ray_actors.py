# SPDX-License-Identifier: Apache-2.0
"""Actors whose groups tests make: each calls Ray's collectives as a program of Ray would."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ray
import torch
from ray.util import collective
from told import Told, told

import hemiola.ray

#: Three actors that import PyTorch take half a minute to start, and more where other tests have the cores.
LIMIT_S = 250

ROOT = Path(__file__).parents[2]
Make = Callable[[Any], Any]


@contextmanager
def cluster() -> Iterator[None]:
    """Start Ray on this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{ROOT / 'python'}:{Path(__file__).parent}")
        patch.setenv("OMP_NUM_THREADS", "1")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100 << 20)
        yield
        ray.shutdown()


@ray.remote(num_cpus=0)
class Member:
    """One actor, of as many groups as are asked for."""

    def __init__(self) -> None:
        hemiola.ray.register()

    def join(self, rank_count: int, rank: int, group: str, limit_s: float = 60) -> None:
        os.environ["HEMIOLA_TIMEOUT"] = str(limit_s)
        collective.init_collective_group(rank_count, rank, backend="HEMIOLA", group_name=group)

    def make_again(self, group: str) -> Told:
        from hemiola.ray import HemiolaGroup

        return told(lambda: HemiolaGroup(1, 0, group))

    def leave(self, group: str) -> None:
        collective.destroy_collective_group(group)

    def run(self, function: Callable[[str, int, int], Any], group: str) -> Any:
        n, rank = collective.get_collective_group_size(group), collective.get_rank(group)
        return function(group, rank, n)

    def declared(self, group: str) -> list[float]:
        x = np.array([ray.get_runtime_context().get_actor_id() != ""], np.float32) * 2
        collective.allreduce(x, group)
        return listed(x)


def as_numpy(values: Any) -> Any:
    return np.array(values, np.float32)


def as_torch(values: Any) -> Any:
    return torch.tensor(values, dtype=torch.float32)


def as_bfloat16(values: Any) -> Any:
    return torch.tensor(values, dtype=torch.bfloat16)


def as_columns(values: Any) -> Any:
    """Return a tensor that is not contiguous."""
    apart = torch.zeros(len(values), 2)
    apart[:, 1] = torch.tensor(values)
    return apart[:, 1]


def as_every_second(values: Any) -> Any:
    """Return an array that is not contiguous."""
    apart = np.zeros(2 * len(values), np.float32)
    apart[::2] = values
    return apart[::2]


def listed(x: Any) -> list[float]:
    return [float(value) for value in x]


def all_operations(make: Make) -> Callable[[str, int, int], dict[str, list[Any]]]:
    """Return a function that runs each of Ray's operations once, and says what it left."""

    def run(group: str, rank: int, n: int) -> dict[str, list[Any]]:
        left: dict[str, list[Any]] = {}
        x = make([rank + 1.0, 2.0])
        collective.allreduce(x, group)
        left["allreduce"] = listed(x)
        x = make([rank + 1.0, 2.0])
        collective.allreduce(x, group, op=collective.types.ReduceOp.MAX)
        left["allreduce max"] = listed(x)
        x = make([rank + 1.0, 2.0])
        collective.reduce(x, 1, group, op=collective.types.ReduceOp.PRODUCT)
        left["reduce"] = listed(x)
        x = make([rank + 0.0] * 3)
        collective.broadcast(x, 1, group)
        left["broadcast"] = listed(x)
        every = [make([0.0] * 2) for _ in range(n)]
        collective.allgather(every, make([rank, -rank]), group)
        left["allgather"] = [listed(each) for each in every]
        x = make([0.0] * 2)
        collective.reducescatter(x, [make([rank + i, 1.0]) for i in range(n)], group)
        left["reducescatter"] = listed(x)
        collective.barrier(group)
        if rank == 0:
            collective.send(make([7.0] * 5), n - 1, group)
        if rank == n - 1:
            x = make([0.0] * 5)
            collective.recv(x, 0, group)
            left["recv"] = listed(x)
        return left

    return run


def reduce_until_lost(group: str, rank: int, n: int) -> tuple[list[str], str, float]:
    """Reduce until an actor dies; return the error's classes and text, and when it came."""
    x = np.ones(1000, np.float32)
    try:
        while True:
            collective.allreduce(x, group)
            x[:] = 1
    except RuntimeError as error:
        return [kind.__name__ for kind in type(error).__mro__], str(error), time.time()


def reduce_oddly(odd: Callable[[int], Any]) -> Callable[[str, int, int], Told]:
    """Return a function that passes what may be wrong, and returns the error; the group serves afterwards."""

    def run(group: str, rank: int, n: int) -> Told:
        found = told(lambda: collective.allreduce(odd(rank), group))
        x = np.ones(3, np.float32)
        collective.allreduce(x, group)
        assert listed(x) == [n] * 3
        return found

    return run


def called(members: Sequence[Any], method: str, *arguments: Any) -> list[Any]:
    """Call a method of all of them, and wait for what they return."""
    found: list[Any] = ray.get(
        [getattr(each, method).remote(*arguments) for each in members], timeout=LIMIT_S
    )
    return found


def joined(members: Sequence[Any], group: str) -> None:
    """Make a group of all of them."""
    n = len(members)
    ray.get([each.join.remote(n, rank, group) for rank, each in enumerate(members)], timeout=LIMIT_S)
