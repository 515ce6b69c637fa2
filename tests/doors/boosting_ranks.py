# SPDX-License-Identifier: Apache-2.0
"""Ranks that train with LightGBM, over Hemiola or over LightGBM's sockets."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from typing import Any

import lightgbm
import numpy as np
from told import Told, told

import hemiola as hm
from hemiola.lightgbm import Network, NetworkError, functions

PARAMETERS = {
    "num_leaves": 31, "verbose": -1, "num_threads": 1, "deterministic": True, "force_row_wise": True, "seed": 1,
    "top_k": 5,
}  # fmt: skip


def problem(rank: int, rank_count: int, learner: str, objective: str) -> lightgbm.Dataset:
    """Return the rows of a rank; all of them for a learner that shares features."""
    rows, columns = 3000, 12
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, columns))
    x[:, 5] = rng.integers(0, 30, rows)
    y = 2 * x[:, 0] + np.sin(3 * x[:, 1]) + x[:, 2] * x[:, 3] + 0.1 * rng.standard_normal(rows)
    if objective == "binary":
        y = (y > 0).astype(float)
    if objective == "wide":  # sums of such doubles depend on their order
        y *= 10.0 ** rng.integers(-12, 12, rows)
    own = (
        slice(rank * rows // rank_count, (rank + 1) * rows // rank_count)
        if learner != "feature"
        else slice(None)
    )
    return lightgbm.Dataset(x[own], y[own], categorical_feature=[5])


def parameters_of(learner: str, objective: str, rank_count: int) -> dict[str, Any]:
    kind = "binary" if objective == "binary" else "regression"
    return PARAMETERS | {
        "tree_learner": learner, "objective": kind, "num_machines": rank_count,
        "pre_partition": learner != "feature", "use_quantized_grad": objective == "quantized",
    }  # fmt: skip


def trained(learner: str, objective: str, rounds: int, ports: Sequence[int]) -> str:
    """Train as a rank, by sockets where ports are given; return the model."""
    comm = hm.init(timeout_s=60)
    n, me = comm.rank_count, comm.rank
    parameters, data = parameters_of(learner, objective, n), problem(me, n, learner, objective)
    if ports:
        machines = ",".join(f"127.0.0.1:{port}" for port in ports)
        parameters |= {"machines": machines, "local_listen_port": ports[me], "time_out": 2}
        model = lightgbm.train(parameters, data, rounds)
    else:
        with Network(comm):
            model = lightgbm.train(parameters, data, rounds)
    return str(model.model_to_string()).split("parameters:")[0]


def trained_until_lost(after: int) -> tuple[list[str], str, str, float]:
    """Train until a rank is killed after a tree, or at its first collective; return the error, its cause, and when it
    came."""
    comm = hm.init(timeout_s=60)
    n, me = comm.rank_count, comm.rank
    comm.barrier()  # all have met

    def kill(env: Any) -> None:
        if me == n - 1 and env.iteration == after:
            os.kill(os.getpid(), signal.SIGKILL)

    if me == n - 1 and after < 0:
        for name in ("all_gather", "reduce_scatter"):
            setattr(functions, name, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    try:
        with Network(comm):
            lightgbm.train(
                parameters_of("data", "regression", n),
                problem(me, n, "data", "regression"),
                500,
                callbacks=[kill],
            )
    except NetworkError as error:
        kinds = [kind.__name__ for kind in type(error).__mro__]
        return kinds, str(error), type(error.__cause__).__name__, time.monotonic()
    return [], "", "", 0.0


def make_mistakes() -> dict[str, Told]:
    """Return what each mistake raises."""
    comm = hm.init(timeout_s=60)

    def enter_twice() -> None:
        with Network(comm):
            Network(comm).__enter__()

    def train_unequal_trees() -> None:
        parameters = parameters_of("data", "regression", comm.rank_count) | {
            "num_leaves": 31 - 10 * comm.rank
        }
        with Network(comm):
            lightgbm.train(parameters, problem(comm.rank, comm.rank_count, "data", "regression"), 5)

    return {
        "no communicator": told(lambda: Network("ranks")),  # type: ignore[arg-type]
        "two networks": told(enter_twice),
        "unequal trees": told(train_unequal_trees),
    }


def train_on_unequal_features() -> Told:
    """Return what training raises on data that has another number of columns on each rank."""
    comm = hm.init(timeout_s=60)
    x = np.random.default_rng(comm.rank).standard_normal((500, 4 + 3 * comm.rank))

    def train() -> None:
        with Network(comm):
            parameters = parameters_of("data", "regression", comm.rank_count)
            lightgbm.train(parameters, lightgbm.Dataset(x, x[:, 0]), 5)

    return told(train)
