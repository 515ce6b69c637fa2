# SPDX-License-Identifier: Apache-2.0
"""One rank of the measured sections: takes cases as JSON on its command line; rank 0 prints their times as JSON.

`hemiola cluster run` starts it on every host of a cluster on one machine."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hemiola.communicator import Communicator, init
from hemiola.demo.network import Floats, Perceptron
from hemiola.demo.training import Digits
from hemiola.environment.packages import optional
from hemiola.pruning import Pruner
from papers.spccl import arrays

_LIMIT_S = 600.0


def main() -> None:
    """Run all cases, with a barrier before each operation."""
    comm = init(timeout_s=_LIMIT_S)
    found = [
        _train(comm, case) if case["kind"] == "training" else _collective(comm, case)
        for case in json.loads(sys.argv[1])
    ]
    if comm.rank == 0:
        print(json.dumps(found), flush=True)


def _collective(comm: Communicator, case: dict[str, Any]) -> dict[str, Any]:
    """Time a collective in several ways in turn: seconds of the slowest rank, by way, and whether all ways agree."""
    n = comm.rank_count
    whole = case["bytes"] // 4 // n * n
    brought = whole // n if case["kind"] == "all_gather" else whole
    x = arrays.PATTERNS[case["pattern"]](case["density"], brought, comm.rank)
    out = np.empty(whole // n if case["kind"] == "reduce_scatter" else whole, np.float32)
    times: list[list[float]] = [[] for _ in case["ways"]]
    for turn in range(case["turns"] + 1):
        for index, way in enumerate(case["ways"]):
            comm.barrier()
            begin = time.perf_counter()
            getattr(comm, case["kind"])(x, out=out, **way)
            took = np.array([time.perf_counter() - begin])
            comm.all_reduce(took, op="max")
            if turn > 0:  # the first finds schedules and touches memory
                times[index].append(float(took[0]))
    return {"seconds": times}


def _train(comm: Communicator, case: dict[str, Any]) -> dict[str, Any]:
    """Time the parts of training steps, each with every density in turn: 1 is dense, below it gradients are pruned."""
    digits, network = Digits.load(), Perceptron(tuple(case["widths"]), 0)
    pruners = [Pruner(density) if density < 1 else None for density in case["densities"]]
    draws = np.random.default_rng(0)
    found: list[list[list[float]]] = [[] for _ in pruners]
    with optional("threadpoolctl").threadpool_limits(1):
        for turn in range(case["steps"] + 1):
            for steps, pruner in zip(found, pruners, strict=True):
                order = draws.permutation(len(digits.images))
                share = order[: case["batch"]][comm.rank :: comm.rank_count]
                step = _step(comm, network, digits.images[share], digits.labels[share], pruner)
                if turn > 0:
                    steps.append(step)
    return {"parameters": network.parameters.size, "steps": found}


def _step(
    comm: Communicator, network: Perceptron, images: Floats, labels: NDArray[np.int64], pruner: Pruner | None
) -> list[float]:
    """Return the seconds that the slowest rank computes, prunes and communicates, and of the whole step."""
    comm.barrier()
    marks = [time.perf_counter()]
    network.backward(images, labels)
    gradient = network.gradient.astype(np.float32)
    marks.append(time.perf_counter())
    if pruner is not None:
        pruner.prune(gradient, out=gradient)
    marks.append(time.perf_counter())
    comm.all_reduce(gradient, op="average", sparse=pruner is not None)
    marks.append(time.perf_counter())
    network.parameters -= 0.1 * gradient
    marks.append(time.perf_counter())
    compute, prune, reduce, update = np.diff(marks)
    took = np.array([compute + update, prune, reduce, marks[-1] - marks[0]])
    comm.all_reduce(took, op="max")
    return [float(part) for part in took]


if __name__ == "__main__":
    main()
