# SPDX-License-Identifier: Apache-2.0
"""The demo: train on 4 local ranks, check that the losses are those of one process, and time the run's own gradient
over an emulated cluster of 8 hosts."""

from __future__ import annotations

import io
import itertools
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console

from hemiola import topologies
from hemiola.communicator import init
from hemiola.demo.network import Perceptron
from hemiola.demo.training import Digits, Run, Task, batches, train_alone, train_together
from hemiola.environment.packages import optional
from hemiola.launch import launch
from hemiola.progress import ProgressBar
from hemiola.view.losses import draw_losses
from hemiola.whole_file import write_whole

RANKS = 4
ALLOWED = 1e-6
FOLDER = Path("demo-output")


@dataclass(frozen=True)
class Timed:
    """A training and how long it took, in seconds."""

    run: Run
    seconds: float


def main() -> int:
    """Train twice, compare, time the gradient's all-reduce, and draw both.

    Returns
    -------
    int, the exit code: 1 if the losses differ by more than 1e-6, or an element of the all-reduce is wrong.
    """
    console = Console(highlight=False)
    FOLDER.mkdir(exist_ok=True)
    task, digits = Task(), Digits.load()
    steps = sum(1 for _ in batches(task, len(digits.images)))
    parameters = Perceptron(task.widths, task.seed).parameters.size
    shape = "-".join(str(width) for width in task.widths)
    console.print(
        f"[bold]Training[/] a {shape} perceptron ({parameters:,} parameters) on scikit-learn's digits, {steps} steps"
    )
    alone = _train_alone(task, digits, steps)
    _report(console, "1 process", alone)
    reports = launch(_train_rank, RANKS, task, digits, steps)
    together = reports[0]
    _report(console, f"{RANKS} ranks", together)
    distance = float(np.abs(np.subtract(alone.run.losses, together.run.losses)).max())
    agrees = distance <= ALLOWED
    verdict = "[green]agree[/]" if agrees else "[bold red]disagree[/]"
    console.print(f"  The losses {verdict}: they are at most {distance:.1e} apart, {ALLOWED:g} is allowed.\n")
    _draw(alone.run, together.run, f"{shape} perceptron, {parameters:,} parameters, batches of {task.batch}")
    gradients = io.BytesIO()
    np.save(gradients, np.stack([report.run.gradient for report in reports]))
    write_whole(FOLDER / "gradients.npy", gradients.getvalue())
    code = _time_gradient(console)
    console.print(f"Pictures: {FOLDER / 'losses.png'} and {FOLDER / 'times.png'}")
    return code if agrees else 1


def _train_alone(task: Task, digits: Digits, steps: int) -> Timed:
    begin = time.perf_counter()
    with optional("threadpoolctl").threadpool_limits(1), _counted("  1 process", steps) as count:
        run = train_alone(task, digits, count)
    return Timed(run, time.perf_counter() - begin)


def _train_rank(task: Task, digits: Digits, steps: int) -> Timed:
    """Train as one of the ranks that `launch` has started."""
    comm = init()
    begin = time.perf_counter()
    # One thread a rank: more would only take turns on the ranks' cores.
    with (
        optional("threadpoolctl").threadpool_limits(1),
        _counted(f"  {comm.rank_count} ranks", steps, quiet=comm.rank != 0) as count,
    ):
        run = train_together(comm, task, digits, count)
    return Timed(run, time.perf_counter() - begin)


@contextmanager
def _counted(label: str, total: int, *, quiet: bool = False) -> Iterator[Callable[[], None]]:
    """Show a bar that goes on by one with each call of what is given."""
    done = itertools.count(1)
    with ProgressBar(label) as bar:
        yield lambda: None if quiet else bar(next(done), total)


def _report(console: Console, who: str, timed: Timed) -> None:
    run = timed.run
    console.print(
        f"  {who:<10} {timed.seconds:5.1f} s   loss {run.losses[0]:.4f} → {run.losses[-1]:.4f}   "
        f"{run.accuracy:.1%} of held-out images right"
    )


def _draw(alone: Run, together: Run, subtitle: str) -> None:
    draw_losses(
        alone.losses,
        together.losses,
        FOLDER / "losses.png",
        title=f"Training on digits, by 1 process and by {RANKS} ranks",
        subtitle=subtitle,
        rank_count=RANKS,
        allowed=ALLOWED,
    )


def _time_gradient(console: Console) -> int:
    """Run the last step's gradients through every all-reduce, over eight hosts on emulated Gigabit Ethernet."""
    cluster = topologies.switch(8, latency_s=100e-6, bandwidth=125e6)
    cluster.save(FOLDER / "cluster.yaml")
    arguments = [
        "run",
        "all_reduce",
        "--data",
        FOLDER / "gradients.npy",
        "--emulate",
        FOLDER / "cluster.yaml",
    ]
    arguments += ["--algorithm", "all", "--repeats", 10, "--chart", FOLDER / "times.png"]
    words = [str(argument) for argument in arguments]
    console.print("[bold]The gradient's all-reduce[/] on eight hosts, emulated:")
    console.print(f"  hemiola {' '.join(words)}\n", soft_wrap=True)
    return subprocess.run([sys.executable, "-m", "hemiola.cli", *words]).returncode
