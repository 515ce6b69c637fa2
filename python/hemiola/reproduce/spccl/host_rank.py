"""One rank of the measured sections: takes cases as JSON on its command line; rank 0 prints what they took as JSON.

`hemiola cluster run` starts it on every host of a cluster on one machine."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

from hemiola.communicator import Communicator, init
from hemiola.reproduce.spccl import arrays

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
    """Time the parts of training steps with pruned gradients, or dense ones where the density is 1."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    from hemiola.demo.network import Perceptron
    from hemiola.demo.training import Digits
    from hemiola.pruning import Pruner

    digits, network = Digits.load(), Perceptron(tuple(case["widths"]), 0)
    pruner, is_pruned = Pruner(case["density"]), case["density"] < 1
    gradient = np.empty(network.gradient.size, np.float32)
    draws, steps = np.random.default_rng(0), []
    with threadpool_limits(1):
        for _ in range(case["steps"] + 1):
            share = draws.permutation(len(digits.images))[: case["batch"]][comm.rank :: comm.rank_count]
            comm.barrier()
            marks = [time.perf_counter()]
            network.backward(digits.images[share], digits.labels[share])
            gradient[:] = network.gradient
            marks.append(time.perf_counter())
            if is_pruned:
                pruner.prune(gradient, out=gradient)
            marks.append(time.perf_counter())
            comm.all_reduce(gradient, op="average", sparse=is_pruned)
            marks.append(time.perf_counter())
            network.parameters -= 0.1 * gradient
            marks.append(time.perf_counter())
            took = np.diff(marks)
            step = np.array([took[0] + took[3], took[1], took[2], marks[-1] - marks[0]])
            comm.all_reduce(step, op="max")
            steps.append(step.tolist())
    return {"parameters": gradient.size, "steps": steps[1:]}


if __name__ == "__main__":
    main()
