# SPDX-License-Identifier: Apache-2.0
"""LightGBM's row of benchmarks/doors.py: models, times and a killed rank beside its own sockets."""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
import time
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

import hemiola as hm
from boosting import PARAMETERS, free_ports, measured
from doors_row import Row, Timing

RANKS = (2, 3)
_LIMIT_S = 25.0


def trained_until_lost(ports: Sequence[int]) -> tuple[str, float]:
    """Train until the last rank kills itself; return the error, and when it came."""
    lightgbm = importlib.import_module("lightgbm")
    from hemiola.lightgbm import Network

    comm = hm.init(timeout_s=60)
    n, me = comm.rank_count, comm.rank
    x = np.random.default_rng(me).standard_normal((2000, 10))
    parameters: dict[str, Any] = PARAMETERS | {"num_machines": n}
    if ports:
        machines = ",".join(f"127.0.0.1:{port}" for port in ports)
        parameters |= {"machines": machines, "local_listen_port": ports[me], "time_out": 1}

    def kill(env: Any) -> None:
        if me == n - 1 and env.iteration == 3:
            os.kill(os.getpid(), 9)

    try:
        with nullcontext() if ports else Network(comm):
            lightgbm.train(parameters, lightgbm.Dataset(x, x[:, 0]), 1000, callbacks=[kill])
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:90]}", time.monotonic()
    return "trained on", time.monotonic()


def killed(ports: Sequence[int]) -> str:
    """Return what survivors of a killed rank say."""
    begin = time.monotonic()
    ends = hm.launch(trained_until_lost, 3, ports, on_failure="continue", timeout_s=_LIMIT_S)
    said = [end[0] if isinstance(end, tuple) else str(end).partition("\n")[0][:120] for end in ends[:-1]]
    return "; ".join(f"rank {rank}: {text}" for rank, text in enumerate(said)) + (
        f" ({time.monotonic() - begin:.1f} s with the start)"
    )


def rows() -> list[Row]:
    """Train over both networks by turns, and kill a rank of each."""
    asked = argparse.Namespace(turns=3, rounds=30)
    found = [measured(ranks, asked) for ranks in RANKS]
    tried = [f"model of {ranks} ranks" for ranks in RANKS]
    wrong = [name for name, row in zip(tried, found, strict=True) if row["models"] != 1]
    timings = [
        Timing(
            f"29 trees, {row['ranks']} ranks",
            1e6 * row["ours_s"],
            1e6 * statistics.median([row["sockets_s"]]),
        )
        for row in found
    ]
    version = str(importlib.import_module("lightgbm").__version__)
    return [Row("LightGBM", version, tried, wrong, timings, killed([]), killed(free_ports(3)))]
