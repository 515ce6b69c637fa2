# SPDX-License-Identifier: Apache-2.0
"""LightGBM's distributed training over Hemiola and over its own sockets, which take turns on local ranks.

LightGBM reduces the histograms of features block by block, a block for each rank, and gathers the best splits. Here
`hemiola.lightgbm.Network` does both. Goals: the same model, and no longer than sockets. Needs `hemiola[lightgbm]`.
"""

from __future__ import annotations

import argparse
import hashlib
import socket
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np
from rich.console import Console

import hemiola as hm
import history
from hemiola.cli.output import table
from hemiola.machine.capacity import describe_machine

ROWS, FEATURES = 24_000, 40
PARAMETERS = {
    "objective": "regression", "num_leaves": 31, "verbose": -1, "num_threads": 1, "deterministic": True,
    "force_row_wise": True, "seed": 1, "tree_learner": "data", "pre_partition": True,
}  # fmt: skip


def trained(rounds: int, ports: Sequence[int]) -> tuple[str, float]:
    """Train as a rank, by sockets where ports are given; return the model's hash and its seconds after one tree."""
    import lightgbm

    from hemiola.lightgbm import Network

    with hm.init(timeout_s=60) as comm, nullcontext() if ports else Network(comm):
        n, me = comm.rank_count, comm.rank
        rng = np.random.default_rng(0)
        x = rng.standard_normal((ROWS, FEATURES))
        y = 2 * x[:, 0] + np.sin(3 * x[:, 1]) + x[:, 2] * x[:, 3] + 0.1 * rng.standard_normal(ROWS)
        own = slice(me * ROWS // n, (me + 1) * ROWS // n)
        parameters = PARAMETERS | {"num_machines": n}
        if ports:
            machines = ",".join(f"127.0.0.1:{port}" for port in ports)
            parameters |= {"machines": machines, "local_listen_port": ports[me], "time_out": 2}
        ends_s: list[float] = []
        model = lightgbm.train(
            parameters, lightgbm.Dataset(x[own], y[own]), rounds,
            callbacks=[lambda _: ends_s.append(time.monotonic())],
        )  # fmt: skip
        text = model.model_to_string().split("parameters:")[0]
        return hashlib.sha1(text.encode()).hexdigest(), ends_s[-1] - ends_s[0]


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens at."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def measured(ranks: int, asked: argparse.Namespace) -> dict[str, Any]:
    """Return one row: both networks' seconds by turn, and whether all models are equal."""
    seconds: tuple[list[float], list[float]] = ([], [])
    models = set()
    for _ in range(asked.turns):
        for ports, own in zip((free_ports(ranks), []), seconds, strict=True):
            found = hm.launch(trained, ranks, asked.rounds, ports, timeout_s=300)
            models |= {model for model, _ in found}
            own.append(max(taken_s for _, taken_s in found))
    ratios = [ours_s / sockets_s for sockets_s, ours_s in zip(*seconds, strict=True)]
    sockets_s, ours_s = (statistics.median(each) for each in seconds)
    return {"ranks": ranks, "sockets_s": sockets_s, "ours_s": ours_s, "ratios": ratios, "models": len(models)}


def is_met(row: dict[str, Any]) -> bool:
    """Return whether a row reaches its goals."""
    return bool(row["models"] == 1 and statistics.median(row["ratios"]) <= 1)


def show(rows: Sequence[dict[str, Any]], console: Console) -> None:
    """Print the rows as a table."""
    shown_rows = table(
        "ranks", "sockets ms", "ours ms", "ours over sockets", "spread", "models", "goal",
        title=describe_machine(),
    )  # fmt: skip
    for row in rows:
        shown_rows.add_row(
            str(row["ranks"]),
            f"{1e3 * row['sockets_s']:.0f}",
            f"{1e3 * row['ours_s']:.0f}",
            f"{statistics.median(row['ratios']):.2f}",
            f"{min(row['ratios']):.2f}-{max(row['ratios']):.2f}",
            str(row["models"]),
            "met" if is_met(row) else "MISSED",
        )
    console.print(shown_rows)


def main() -> int:
    """Measure, print; exit status 1 if models differ or a goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--rounds", type=int, default=30, help="trees")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print JSON lines instead of a table")
    history.add_option(parser)
    asked = parser.parse_args()
    return history.conclude(asked, [measured(ranks, asked) for ranks in asked.ranks], show, is_met)


if __name__ == "__main__":
    sys.exit(main())
