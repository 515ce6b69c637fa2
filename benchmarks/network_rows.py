"""The rows of benchmarks/network.py: what each asks of the contenders, and what it makes of their answers."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.progress import Progress

from hemiola.cluster import Cluster
from network_contenders import Contender
from network_report import Goal, Measured, Spread

#: Of an Ethernet frame on an emulated NIC, as the kernel counts it, and of that TCP's payload.
FRAME_BYTES, PAYLOAD_BYTES = 1514, 1448
_ROUNDS = {16 << 20: 5, 64 << 20: 3}
_FEWEST_ROUNDS = 3


@dataclass(frozen=True)
class Bench:
    """A cluster with contenders on it, and what to ask them."""

    cluster: Cluster
    rate: str | None
    contenders: Mapping[str, Contender]
    sizes: Sequence[int]
    rounds: int | None
    progress: Progress

    @property
    def hosts(self) -> int:
        return len(self.cluster.hosts)

    def goodput_Bps(self) -> float:
        """Return what TCP's payload can get of a NIC that is not slow."""
        rate, _ = self.cluster.rates(self.hosts - 1)
        assert rate is not None
        return rate * PAYLOAD_BYTES / FRAME_BYTES


def all_reduce(bench: Bench) -> list[Measured]:
    """Fault-free all-reduces over the goodput limit; at most 1.02 on 8 hosts."""
    return [_throughput(bench, "all_reduce", nbytes, 2.0) for nbytes in bench.sizes]


def all_gather(bench: Bench) -> list[Measured]:
    """All-gathers over the goodput limit; at or ahead of the best peer."""
    return [_throughput(bench, "all_gather", nbytes, 1.0) for nbytes in bench.sizes]


def reduce_scatter(bench: Bench) -> list[Measured]:
    """Reduce-scatters over the goodput limit; at or ahead of the best peer."""
    return [_throughput(bench, "reduce_scatter", nbytes, 1.0) for nbytes in bench.sizes]


def _throughput(bench: Bench, collective: str, nbytes: int, crossings: float) -> Measured:
    """Time one operation a round; `crossings`: how often the others' parts of a buffer pass a NIC."""
    limit_s = crossings * (bench.hosts - 1) / bench.hosts * nbytes / bench.goodput_Bps()
    order = {"collective": collective, "bytes": nbytes}
    rounds = bench.rounds or _ROUNDS.get(nbytes, _FEWEST_ROUNDS)
    before = os.getloadavg()[0]
    task = bench.progress.add_task(f"{collective}, {bench.hosts} hosts, {nbytes >> 20} MiB", total=rounds + 1)
    wrong = {name: _wrong(contender, order) for name, contender in bench.contenders.items()}
    bench.progress.advance(task)
    seconds: dict[str, list[float]] = {name: [] for name in bench.contenders}
    for turn in range(rounds):
        for name in in_turn(list(bench.contenders), turn):
            seconds[name].append(_span_s(bench.contenders[name].ask(**order, repeats=1)))
        bench.progress.advance(task)
    over_limit = {name: Spread.of([s / limit_s for s in values]) for name, values in seconds.items()}
    peers = [name for name in over_limit if name != "hemiola"]
    goal = Goal("over the limit", over_limit["hemiola"].median, 1.02) if collective == "all_reduce" else None
    if goal is None and peers:
        best = min(peers, key=lambda name: over_limit[name].median)
        paired = [a / b for a, b in zip(seconds["hemiola"], seconds[best], strict=True)]
        goal = Goal(f"over {best}, the best peer", Spread.of(paired).median, 1.0)
    return Measured(
        row=collective,
        hosts=bench.hosts,
        rate=bench.rate,
        bytes=nbytes,
        rounds=rounds,
        seconds={name: Spread.of(values) for name, values in seconds.items()},
        ratio_of="over the goodput limit",
        ratios=over_limit,
        wrong=wrong,
        load=(before, os.getloadavg()[0]),
        goal=goal,
    )


def in_turn(names: list[str], turn: int) -> list[str]:
    """Return names in another order every turn."""
    return names[turn % len(names) :] + names[: turn % len(names)]


def _wrong(contender: Contender, order: dict[str, Any]) -> int:
    return sum(answer["wrong"] for answer in contender.ask(**order, check=True))


def _span_s(answers: list[dict[str, Any]]) -> float:
    """Return how long it took from when the last rank had come to when the last had ended."""
    return max(a["ended_s"] for a in answers) - max(a["came_s"] for a in answers)
