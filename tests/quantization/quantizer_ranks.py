# SPDX-License-Identifier: Apache-2.0
"""What the ranks of the tests of quantized all-reduces do."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
import time
from typing import Any
from unittest import mock

import numpy as np

import hemiola as hm
from hemiola.demo.network import Perceptron
from hemiola.demo.training import Digits, Task, accuracy, batches
from hemiola.quantization.choice import _rounds_to
from hemiola.quantization.race import Race

CHOICE = "hemiola.quantization.choice"
#: Every call rounds that may, however long it takes beside plain ones.
always_rounding = mock.patch("hemiola.quantization.race.Race.next", return_value=True)


def fast_codec() -> tuple[float, float, float]:
    """Take so little time for a byte that it pays on every link."""
    return 1e-15, 1e-15, 1e-15


def bits(x: Any) -> str:
    return hashlib.sha256(x.tobytes()).hexdigest()


def gradient(rank: int, step: int, size: int) -> Any:
    """Return unlike values, whose magnitudes differ from block to block."""
    draw = np.random.default_rng([rank, step])
    return (draw.standard_normal(size) * np.exp2(np.arange(size) // 256 % 9 - 4)).astype(np.float32)


def sums(sizes: list[int], steps: int) -> list[tuple[int, str, list[str], float, float]]:
    """Return for each size and op every result's bits, its worst error by its block, and the worst drift of the sum of
    all results, where what is owed counts as sent."""
    comm = hm.init(timeout_s=60)
    found = []
    for size in sizes:
        for op in ("sum", "average"):
            quantizer = hm.Quantizer()
            share = comm.rank_count if op == "average" else 1
            total, exact, worst, seen = np.zeros(size), np.zeros(size), 0.0, []
            for step in range(steps):
                every = [gradient(rank, step, size) for rank in range(comm.rank_count)]
                out = quantizer.all_reduce(comm, every[comm.rank], op, out=np.empty(size, np.float32))
                want = np.sum(every, axis=0, dtype=np.float64) / share
                seen.append(bits(out))
                if step == 0:
                    worst = relative(out - want, np.max(np.abs(every), axis=0))
                total += out
                exact += want
            owed = np.zeros(size) if quantizer.residual is None else quantizer.residual.astype(np.float64)
            owed = comm.all_reduce(owed) / share
            found.append(
                (size, op, seen, worst, relative(total + owed - exact, np.maximum(np.abs(exact), 1e-3)))
            )
    return found


def relative(error: Any, beside: Any) -> float:
    """Return the worst error beside the largest value that can be in a block with it."""
    worst = 0.0
    for begin in range(0, error.size, 256):
        near = slice(max(0, begin - 255), begin + 511)
        worst = max(worst, float(np.max(np.abs(error[begin : begin + 256])) / np.max(np.abs(beside[near]))))
    return worst


@always_rounding
def odd(_: Any) -> dict[str, Any]:
    """Return results of zeros, infinities, the largest floats and small ones, and of a call in place."""
    comm = hm.init(timeout_s=60)
    size = 1 << 16
    quantizer = hm.Quantizer()
    x = np.ones(size, np.float32)
    x[1] = np.inf if comm.rank == 0 else 1
    bad = quantizer.all_reduce(comm, x.copy(), "average")
    clean = quantizer.all_reduce(comm, np.ones(size, np.float32), "average")
    zeros = hm.Quantizer().all_reduce(comm, np.zeros((2, size // 2), np.float32))
    largest = np.full(size, np.finfo(np.float32).max, np.float32)
    average = hm.Quantizer().all_reduce(comm, largest, "average")
    small = hm.Quantizer()
    waits = small.all_reduce(comm, np.full(size, 1e-37, np.float32), out=np.empty(size, np.float32))
    return {
        "nan in": [int(np.isnan(bad[:256]).sum()), int(np.isnan(bad[256:]).sum())],
        "clean": [float(clean.min()), float(clean.max())],
        "zeros": [zeros.shape, bool(zeros.any())],
        "in place": average is largest,
        "average": float(average.min() / np.finfo(np.float32).max),
        "waits": [float(waits.max()), float(small.residual.max()) if small.residual is not None else None],
    }


@always_rounding
def trained(steps: int, _: Any) -> float:
    """Return the distance to the least-squares optimum after so many steps."""
    comm = hm.init(timeout_s=60)
    size = 4096
    target = np.random.default_rng(0).standard_normal(size).astype(np.float32)
    mine = target + 0.5 * np.random.default_rng(10 + comm.rank).standard_normal(size).astype(np.float32)
    best = comm.all_reduce(mine.copy(), op="average")
    x, quantizer = np.zeros(size, np.float32), hm.Quantizer()
    for _ in range(steps):
        x -= 0.05 * quantizer.all_reduce(comm, x - mine, "average")
    assert quantizer.residual is not None
    return float(np.linalg.norm(x - best) / np.linalg.norm(best))


@always_rounding
def trained_on_digits(tasks: list[Task], _: Any) -> list[float]:
    """Return the accuracy of each task on held-out images where gradients are averaged in eight bits."""
    comm, digits, found = hm.init(timeout_s=60), Digits.load(), []
    for task in tasks:
        network, quantizer = Perceptron(task.widths, task.seed), hm.Quantizer()
        for batch in batches(task, len(digits.images)):
            share = batch[comm.rank :: comm.rank_count]
            network.backward(digits.images[share], digits.labels[share])
            network.parameters -= task.rate * quantizer.all_reduce(
                comm, network.gradient.astype(np.float32), "average"
            )
        assert quantizer.residual is not None
        found.append(accuracy(network, digits))
    return found


def refused() -> list[str]:
    """What every rank hears of arguments that one or all of them get wrong."""
    comm = hm.init(timeout_s=60)
    x = np.ones(1000, np.float32)
    used = hm.Quantizer()
    used.residual = np.zeros(3, np.float32)
    full = hm.Quantizer()
    full.residual = np.zeros(4, np.int32)  # type: ignore[assignment]
    calls: list[Any] = [
        lambda: hm.Quantizer().all_reduce(comm, np.ones(4, np.int32)),
        lambda: hm.Quantizer().all_reduce(comm, x, "max"),
        lambda: used.all_reduce(comm, x),
        lambda: hm.Quantizer().all_reduce(comm, np.ones((4, 4), np.float32)[:, ::2]),
        lambda: hm.Quantizer().all_reduce(comm, np.ones(4, np.int32 if comm.rank == 1 else np.float32)),
        lambda: hm.Quantizer().all_reduce(comm, x, out=np.ones(1000, np.int64)),
        lambda: full.all_reduce(comm, np.ones(4, np.float32)),
    ]
    said = []
    for call in calls:
        try:
            call()
        except hm.HemiolaError as error:
            said.append(f"{type(error).__name__}: {error}")
    return said


def dead_peer(eight_bits: bool, inside: bool) -> list[Any]:
    """The last rank dies before its third call or inside it, while rank 0 has rounded and waits for rank 1: what a
    survivor hears, and whether its residual and its input have the bits of before."""
    comm = hm.init(timeout_s=20)
    quantizer, size, last = hm.Quantizer(), 30_000, comm.rank_count - 1
    with mock.patch(f"{CHOICE}._pays", return_value=eight_bits), mock.patch(f"{CHOICE}._speeds", fast_codec):
        for step in range(2):
            quantizer.all_reduce(comm, gradient(comm.rank, step, size))
        if not eight_bits:
            quantizer.residual = gradient(comm.rank, 3, size)
        residual = quantizer.residual
        assert residual is not None
        before, x, has_rounded = bits(residual), gradient(comm.rank, 2, size), []
        if comm.rank == last:
            threading.Timer(0.6 if inside else 0, _die).start()
        elif comm.rank == 1:
            time.sleep(1.2)
        elif inside:
            threading.Timer(0.3, lambda: has_rounded.append(bits(residual) != before)).start()
        if comm.rank == last and not inside:
            time.sleep(60)
        try:
            quantizer.all_reduce(comm, x)
        except hm.HemiolaError as error:
            said = f"{type(error).__name__}: {error}"
    assert has_rounded == ([True] if comm.rank == 0 and inside else [])
    kept = bits(quantizer.residual) == before, bits(x) == bits(gradient(comm.rank, 2, size))
    return [said, *kept]


def _die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dense() -> tuple[bool, bool, bool]:
    """Between processes of one machine nothing is rounded, and a residual that was set is paid."""
    comm = hm.init(timeout_s=60)
    quantizer = hm.Quantizer()
    x = gradient(comm.rank, 0, 5000)
    want = comm.all_reduce(x.copy(), "average")
    first = np.array_equal(quantizer.all_reduce(comm, x.copy(), "average"), want)
    quantizer.residual = x.copy()
    second = np.array_equal(quantizer.all_reduce(comm, np.zeros(5000, np.float32), "average"), want)
    return first, second, quantizer.residual is None


def raced(seconds: list[list[float]]) -> list[bool]:
    """Return the forms of twenty calls that take each rank's seconds of eight bits, or of plain messages."""
    comm, race, forms = hm.init(timeout_s=60), Race(), []
    coded_s, plain_s = seconds[comm.rank]
    for _ in range(20):
        forms.append(race.next(lambda times: comm.all_reduce(times, "min")))
        taken_ns = round(1e9 * (coded_s if forms[-1] else plain_s))
        race.note(lambda taken_ns=taken_ns: (1, 1 + taken_ns))  # type: ignore[misc]
    return forms


@always_rounding
def on_two_levels(size: int, steps: int, _: Any) -> dict[str, Any]:
    """Return every result's bits, the first one's worst error by its block, the share of elements that this rank owes,
    and by rank whether its sums to it are rounded."""
    comm, quantizer = hm.init(timeout_s=60), hm.Quantizer()
    seen, worst = [], 0.0
    for step in range(steps):
        every = [gradient(rank, step, size) for rank in range(comm.rank_count)]
        out = quantizer.all_reduce(comm, every[comm.rank], out=np.empty(size, np.float32))
        seen.append(bits(out))
        if step == 0:
            worst = relative(out - np.sum(every, axis=0, dtype=np.float64), np.max(np.abs(every), axis=0))
    owed = 0.0 if quantizer.residual is None else float(np.count_nonzero(quantizer.residual) / size)
    return {"bits": seen, "worst": worst, "owed": owed, "rounds to": _rounds_to(comm)}
