# SPDX-License-Identifier: Apache-2.0
"""Trainings by what people train with on PyTorch, on "hemiola" and on gloo: the same losses, to six digits?

Each training of torch_trainings.py runs for 20 steps on four ranks, which are forked from one process that has imported
PyTorch, first on gloo, then on "hemiola". With --hosts the ranks are two on each of two hosts in namespaces of the
network. Says nothing about speed: for that see torch_latency.py."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import logging
import os
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from datetime import timedelta
from pathlib import Path

import torch.distributed as dist
from rich.console import Console

import history
from hemiola.cli.output import table
from hemiola.cluster import Cluster
from hemiola.machine.capacity import describe_machine
from hemiola.whole_file import write_whole
from older_torch import averages
from torch_trainings import TRAININGS

RANKS, HOSTS, LIMIT_S = 4, 2, 180.0
BACKENDS = ("gloo", "hemiola")
#: Six digits.
ALLOWED = 1e-6


def be_rank(training: str, backend: str, rank: int, local: range, at: tuple[str, int], into: Path) -> None:
    """Train as one rank, and write the losses."""
    os.environ |= {
        "RANK": str(rank),
        "WORLD_SIZE": str(RANKS),
        "LOCAL_RANK": str(rank - local.start),
        "LOCAL_WORLD_SIZE": str(len(local)),
        "GROUP_RANK": str(rank // len(local)),
        "MASTER_ADDR": at[0],
        "MASTER_PORT": str(at[1]),
        "TORCHELASTIC_RUN_ID": "torch_frameworks",
        "OMP_NUM_THREADS": "1",
        "DS_ACCELERATOR": "cpu",
        "ACCELERATE_USE_CPU": "true",
    }
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    dist.init_process_group(backend, timeout=timedelta(seconds=60))
    with averages():
        losses = TRAININGS[training][0](backend)
    write_whole(into / f"{backend}-{rank}.json", json.dumps(losses))
    dist.destroy_process_group()


def be_host(training: str, backend: str, local: range, at: tuple[str, int], into: Path) -> int:
    """Fork the ranks of one host and return how many have failed; what they say goes to a file each."""
    importlib.import_module("hemiola.torch.making")  # once, for all ranks
    children = []
    for rank in local:
        child = os.fork()
        if child == 0:
            status = 1
            log = os.open(into / f"{backend}-{rank}.log", os.O_WRONLY | os.O_CREAT)
            os.dup2(log, 1)
            os.dup2(log, 2)
            try:
                be_rank(training, backend, rank, local, at, into)
                status = 0
            except BaseException:
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        children.append(child)
    deadline, failed = time.monotonic() + LIMIT_S, 0
    while children:
        done, status = os.waitpid(-1, os.WNOHANG)
        if done:
            children.remove(done)
            failed += status != 0
        elif time.monotonic() > deadline:
            for child in children:
                os.kill(child, 9)
            deadline = float("inf")
        else:
            time.sleep(0.02)
    return failed


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def run_on_hosts(cluster: Cluster, training: str, backend: str, into: Path) -> int:
    """Run a training with half of the ranks on each host."""
    command = [sys.executable, __file__, training, "--be-host"]
    started = [
        cluster.start(host, [*command, str(host), backend, str(into)], stdout=subprocess.DEVNULL)
        for host in range(HOSTS)
    ]
    return sum(one.wait() for one in started)


def losses_of(backend: str, into: Path) -> list[list[float]]:
    """Return the losses by rank. Raises RuntimeError with what the first rank that failed has said last."""
    found = []
    for rank in range(RANKS):
        path = into / f"{backend}-{rank}.json"
        if not path.exists():
            lines = (into / f"{backend}-{rank}.log").read_text().strip().splitlines() or ["nothing"]
            raise RuntimeError(f"{backend}: rank {rank}: {lines[-1]}")
        found.append(json.loads(path.read_text()))
    return found


def largest_difference(ours: list[list[float]], theirs: list[list[float]]) -> float:
    """Return the largest difference of two losses, relative to gloo's."""
    pairs = [pair for own, other in zip(ours, theirs, strict=True) for pair in zip(own, other, strict=True)]
    return max(abs(own - other) / abs(other) for own, other in pairs)


def compare(training: str, cluster: Cluster | None) -> dict[str, object]:
    """Run a training on both backends, and say how far apart the losses are."""
    function, package = TRAININGS[training]
    row: dict[str, object] = {"training": training, "what": function.__doc__}
    if package and importlib.util.find_spec(package) is None:
        return row | {"result": f"not tried: no package {package}"}
    with tempfile.TemporaryDirectory(prefix="frameworks") as folder:
        into = Path(folder)
        for backend in BACKENDS:
            if cluster is None:
                be_host(training, backend, range(RANKS), ("127.0.0.1", free_port()), into)
            else:
                run_on_hosts(cluster, training, backend, into)
        try:
            theirs, ours = (losses_of(backend, into) for backend in BACKENDS)
        except RuntimeError as error:
            return row | {"result": f"failed: {error}"}
    difference = largest_difference(ours, theirs)
    return row | {
        "result": "equal" if difference <= ALLOWED else "differs",
        "steps": len(ours[0]),
        "first_loss": ours[0][0],
        "last_loss": ours[0][-1],
        "difference": difference,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trainings", nargs="*", choices=[[], *TRAININGS], help="all, unless named")
    parser.add_argument("--hosts", action="store_true", help="two ranks on each of two hosts in namespaces")
    parser.add_argument("--json", type=Path, help="also write the rows here, as JSON lines")
    parser.add_argument("--be-host", nargs=3, help=argparse.SUPPRESS)
    history.add_option(parser)
    given = parser.parse_args()
    if given.be_host:
        host, backend, into = given.be_host
        each = RANKS // HOSTS
        local = range(int(host) * each, (int(host) + 1) * each)
        return be_host(given.trainings[0], backend, local, ("host0", 29550), Path(into))
    cluster = Cluster(HOSTS) if given.hosts else None
    try:
        rows = []
        for training in given.trainings or TRAININGS:
            rows.append(compare(training, cluster))
            print(f"{training}: {rows[-1]['result']}", file=sys.stderr, flush=True)
    finally:
        if cluster is not None:
            cluster.close()
    report = table("training", "losses", "first", "last", "largest difference")
    for row in rows:
        numbers = [
            f"{row[name]:.3g}" if name in row else "–" for name in ("first_loss", "last_loss", "difference")
        ]
        report.add_row(str(row["what"]), str(row["result"]), *numbers)
    Console(width=120).print(report)
    print(describe_machine())
    history.record(given, rows)
    if given.json:
        write_whole(given.json, "".join(json.dumps(row) + "\n" for row in rows))
    return int(any(row["result"] != "equal" and "not tried" not in str(row["result"]) for row in rows))


if __name__ == "__main__":
    sys.exit(main())
