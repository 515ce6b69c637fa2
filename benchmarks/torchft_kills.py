# SPDX-License-Identifier: Apache-2.0
"""From the kill of a replica to the others' next committed step under torchft, over Hemiola and over gloo.

    pip install torchft==0.2.0 && python benchmarks/torchft_kills.py

Goal: no longer than over gloo in the same run. Replicas train a small network; one after the other is killed. The
survivors' time goes from the beginning of the step that fails to the end of the first one that commits. Most of it is
torchft's own agreement, which is the same for both."""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from datetime import timedelta
from typing import Any

import torch
from torch import distributed as dist
from torch import nn

from hemiola.machine.capacity import describe_machine

LIMIT = timedelta(seconds=30)
#: Steps of all replicas before the next one is killed, and the pause between two.
STEPS_BETWEEN, PAUSE_S = 15, 0.02


def process_group(kind: str) -> Any:
    """Return what torchft makes new groups with."""
    from torchft.process_group import ProcessGroupGloo, ProcessGroupWrapper

    from hemiola.torch.elastic import next_group

    class ProcessGroupHemiola(ProcessGroupWrapper):  # type: ignore[misc]
        """A group over Hemiola that torchft makes anew for each quorum."""

        _before: dist.ProcessGroup | None = None

        def _create_pg(self, store: Any, rank: int, world_size: int) -> dist.ProcessGroup:
            before, self._before = self._before, None
            self._before = next_group(store, rank, world_size, self._timeout, before)
            return self._before

        def getBackendName(self) -> str:
            return "torchft-hemiola"

        def shutdown(self) -> None:
            self.abort(errored=False)

    return (ProcessGroupHemiola if kind == "hemiola" else ProcessGroupGloo)(timeout=LIMIT)


def replica(kind: str, number: int, count: int) -> None:
    """Train, until this replica is killed or is one of the last two; print the times of steps that lost a replica."""
    from torchft import DistributedDataParallel, Manager, Optimizer

    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256))
    sgd = torch.optim.SGD(net.parameters(), lr=0.01)

    def load(state: Any) -> None:
        net.load_state_dict(state["net"])
        sgd.load_state_dict(state["sgd"])

    store = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    manager = Manager(
        pg=process_group(kind),
        min_replica_size=1,
        load_state_dict=load,
        state_dict=lambda: {"net": net.state_dict(), "sgd": sgd.state_dict()},
        replica_id=f"r{number}",
        timeout=LIMIT,
        store_addr="localhost",
        store_port=store.port,
        rank=0,
        world_size=1,
        use_async_quorum=True,
    )
    model, optimizer = DistributedDataParallel(manager, net), Optimizer(manager, sgd)
    rows = torch.randn(8, 256)
    alive, steps, kills_s = count, 0, list[float]()
    begin: float | None = None  # of the earliest step that did not commit
    while not (alive == 2 and steps >= STEPS_BETWEEN):
        if alive == number + 1 and steps == STEPS_BETWEEN:
            os.kill(os.getpid(), signal.SIGKILL)
        begin, before = begin or time.perf_counter(), manager.current_step()
        optimizer.zero_grad()
        model(rows).square().mean().backward()
        optimizer.step()
        if manager.current_step() > before:
            present = manager.num_participants()
            if present < alive and steps >= STEPS_BETWEEN:
                kills_s.append(time.perf_counter() - begin)
                alive, steps = present, 0
            steps += present == alive
            begin = None
        time.sleep(PAUSE_S)
    print(json.dumps(kills_s), flush=True)
    os._exit(0)


def kills_of(kind: str, count: int) -> list[float]:
    """Run replicas until two are left, and return the times of the one that is never killed."""
    from torchft.coordination import LighthouseServer

    lighthouse = LighthouseServer(bind="127.0.0.1:0", min_replicas=1)
    environment = os.environ | {"TORCHFT_LIGHTHOUSE": lighthouse.address(), "OMP_NUM_THREADS": "1"}
    replicas = [
        subprocess.Popen(
            [sys.executable, __file__, "--replica", kind, str(number), "--replicas", str(count)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for number in range(count)
    ]
    try:
        said = replicas[0].communicate(timeout=240)[0]
        found: list[float] = json.loads(said)
        return found
    finally:
        for one in replicas:
            one.kill()
            one.wait()
        lighthouse.shutdown()


def main() -> None:
    """Measure both, in turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicas", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--replica", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.replica:
        replica(asked.replica[0], int(asked.replica[1]), asked.replicas)
    print(describe_machine())
    seconds: dict[str, list[float]] = {"hemiola": [], "gloo": []}
    for _ in range(asked.rounds):
        for kind, found in seconds.items():
            found += kills_of(kind, asked.replicas)
    for kind, found in seconds.items():
        print(
            f"{kind}: {len(found)} kills, median {statistics.median(found):.3f} s, "
            f"{min(found):.3f} to {max(found):.3f} s"
        )


if __name__ == "__main__":
    main()
