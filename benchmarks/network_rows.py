# SPDX-License-Identifier: Apache-2.0
"""The rows of benchmarks/network.py: what each asks of the contenders, and what it makes of their answers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.progress import Progress

import hemiola as hm
from hemiola.cluster import Cluster
from hemiola.machine.capacity import describe_machine
from network_contenders import Contender
from network_report import Goal, Measured, Spread

#: Of an Ethernet frame on an emulated NIC, as the kernel counts it, and of that TCP's payload.
FRAME_BYTES, PAYLOAD_BYTES = 1514, 1448
_FEWEST_ROUNDS = 3
_ROUNDS = {16 << 20: 5}
_SMALL_BYTES, _SMALL_ROUNDS, _SMALL_S = (8, 4 << 10), 11, 0.2
_TRIAL_REPEATS = 10
_SLOWDOWNS = {2.0: 1.20, 1.33: 1.10}
_SLOW_HOST = 0
#: So many operations must be enough to notice a slow port or a late rank.
_MOST_TO_NOTICE = 12
#: So many must be enough to notice that a port has recovered: trials come 8, 24 and 56 operations after it was noticed
#: (docs/decisions/0008-health.md), and two more follow.
_MOST_TO_RECOVER = 64
#: What is told to the planner beside goodput and conditions.
_LATENCY_S = 50e-6

#: One sender to each rank, all at once, all in turn, and some in turn.
_PATTERNS = ("all_reduce_ring", "all_reduce_direct", "all_reduce_direct_rounds", "all_reduce_bruck")

Answers = list[dict[str, Any]]


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

    @property
    def goodput_Bps(self) -> float:
        """What TCP's payload can get of a NIC that is not slow."""
        rate, _ = self.cluster.rates(self.hosts - 1)
        assert rate is not None
        return rate * PAYLOAD_BYTES / FRAME_BYTES

    def rounds_of(self, nbytes: int) -> int:
        return self.rounds or _ROUNDS.get(nbytes, _FEWEST_ROUNDS)

    def planned(self, folder: Path, nbytes: int, conditions: hm.Conditions) -> str:
        """Plan an all-reduce for these NICs and conditions; return the schedule's path."""
        network = hm.topologies.switch(self.hosts, latency_s=_LATENCY_S, bandwidth=self.goodput_Bps)
        path = folder / f"{nbytes}-{len(list(folder.iterdir()))}.sched"
        hm.plan(network, "all_reduce", nbytes, conditions).schedule.save(path)
        return str(path)

    def in_turns(
        self, what: str, rounds: int, asked: Mapping[str, Callable[[], Answers]]
    ) -> dict[str, list[Answers]]:
        """Ask so many rounds, in another order each; return the answers."""
        task = self.progress.add_task(f"{what}, {self.hosts} hosts", total=rounds * len(asked))
        answers: dict[str, list[Answers]] = {name: [] for name in asked}
        names = list(asked)
        for turn in range(rounds):
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                answers[name].append(asked[name]())
                self.progress.advance(task)
        return answers

    def wrong(self, order: dict[str, Any]) -> dict[str, int]:
        """Have every contender do it once on known data; return how many elements were wrong."""
        return {name: _wrong(contender, order) for name, contender in self.contenders.items()}


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
    limit_s = crossings * (bench.hosts - 1) / bench.hosts * nbytes / bench.goodput_Bps
    order = {"collective": collective, "bytes": nbytes}
    begin = os.getloadavg()[0]
    wrong = bench.wrong(order)
    answers = bench.in_turns(
        f"{collective} of {nbytes >> 20} MiB",
        bench.rounds_of(nbytes),
        {name: _asking(contender, **order, repeats=1) for name, contender in bench.contenders.items()},
    )
    seconds = {name: [_span_s(each) for each in rounds] for name, rounds in answers.items()}
    over_limit = {name: Spread.of([s / limit_s for s in values]) for name, values in seconds.items()}
    goals = [_no_slower(seconds)]
    if collective == "all_reduce":
        goals = [Goal("over the limit", over_limit["hemiola"].median, 1.02)]
    return Measured(
        row=collective,
        hosts=bench.hosts,
        rate=bench.rate,
        bytes=nbytes,
        machine=describe_machine(),
        setting="",
        rounds=bench.rounds_of(nbytes),
        seconds=_spreads(seconds),
        ratio_of="the goodput limit",
        ratios=over_limit,
        wrong=wrong,
        load=(begin, os.getloadavg()[0]),
        goals=[goal for goal in goals if goal],
    )


def patterns(bench: Bench) -> list[Measured]:
    """All-reduces that take equally long on paper, but differ in how many ranks send to one: what crowding costs."""
    nbytes = bench.sizes[0]
    limit_s = 2 * (bench.hosts - 1) / bench.hosts * nbytes / bench.goodput_Bps
    hemiola, begin = bench.contenders["hemiola"], os.getloadavg()[0]
    orders = {name: {"collective": "all_reduce", "bytes": nbytes, "schedule": name} for name in _PATTERNS}
    wrong = {name: _wrong(hemiola, order) for name, order in orders.items()}
    rounds = bench.rounds_of(nbytes)
    answers = bench.in_turns(
        "patterns", rounds, {name: _asking(hemiola, **order, repeats=1) for name, order in orders.items()}
    )
    seconds = {name: [_span_s(each) for each in got] for name, got in answers.items()}
    return [
        Measured(
            row="patterns",
            hosts=bench.hosts,
            rate=bench.rate,
            bytes=nbytes,
            machine=describe_machine(),
            setting="Hemiola's, by name",
            rounds=rounds,
            seconds=_spreads(seconds),
            ratio_of="the goodput limit",
            ratios={name: Spread.of([s / limit_s for s in values]) for name, values in seconds.items()},
            wrong=wrong,
            load=(begin, os.getloadavg()[0]),
            goals=[],
        )
    ]


def small(bench: Bench) -> list[Measured]:
    """All-reduces of 8 B and 4 KiB; ahead of every peer."""
    return [_small(bench, nbytes) for nbytes in _SMALL_BYTES]


def _small(bench: Bench, nbytes: int) -> Measured:
    order = {"collective": "all_reduce", "bytes": nbytes}
    begin = os.getloadavg()[0]
    wrong = bench.wrong(order)
    repeats = {}
    for name, contender in bench.contenders.items():
        trial_s = _span_s(contender.ask(**order, repeats=_TRIAL_REPEATS)) / _TRIAL_REPEATS
        repeats[name] = max(2, round(_SMALL_S / max(trial_s, 1e-9)))
    rounds = bench.rounds or _SMALL_ROUNDS
    answers = bench.in_turns(
        f"all_reduce of {nbytes} B",
        rounds,
        {
            name: _asking(contender, **order, repeats=repeats[name], warm_up=repeats[name] // 4)
            for name, contender in bench.contenders.items()
        },
    )
    seconds = {name: [_span_s(each) / repeats[name] for each in got] for name, got in answers.items()}
    over_us = {
        name: Spread.of([b / a for a, b in zip(seconds["hemiola"], seconds[name], strict=True)])
        for name in seconds
    }
    goal = _no_slower(seconds)
    return Measured(
        row="small",
        hosts=bench.hosts,
        rate=bench.rate,
        bytes=nbytes,
        machine=describe_machine(),
        setting="",
        rounds=rounds,
        seconds=_spreads(seconds),
        ratio_of="Hemiola",
        ratios=over_us,
        wrong=wrong,
        load=(begin, os.getloadavg()[0]),
        goals=[goal] if goal else [],
    )


def slow_nic(bench: Bench) -> list[Measured]:
    """One NIC slower by 2 and by 1.33 over the same without; at most 1.20 and 1.10."""
    return [_slow_nic(bench, nbytes, factor) for nbytes in bench.sizes[:1] for factor in _SLOWDOWNS]


def _slow_nic(bench: Bench, nbytes: int, factor: float) -> Measured:
    hemiola = bench.contenders["hemiola"]
    order = {"collective": "all_reduce", "bytes": nbytes}
    begin = os.getloadavg()[0]
    wrong = bench.wrong(order)
    plain = {name: _asking(contender, **order, repeats=1) for name, contender in bench.contenders.items()}
    rounds = bench.rounds_of(nbytes)
    without = bench.in_turns("fault-free", rounds, plain)
    own_s = {name: Spread.of([_span_s(each) for each in got]).median for name, got in without.items()}
    with _folder() as folder:
        told = order | {"schedule": bench.planned(folder, nbytes, hm.Conditions(slow={_SLOW_HOST: factor}))}
        wrong["hemiola, told"] = _wrong(hemiola, told)
        with _slower(bench, factor):
            for _ in range(_MOST_TO_NOTICE):
                health = hemiola.ask(ask="health")[0]  # the same on all
                if health["slow"] or not health["watching"]:
                    break
                hemiola.ask(**order, repeats=1)
            answers = bench.in_turns(
                f"NIC slower by {factor}",
                rounds,
                plain | {"hemiola, told": _asking(hemiola, **told, repeats=1)},
            )
        _recover(hemiola, order)
    seconds = {name: [_span_s(each) for each in got] for name, got in answers.items()}
    ratios = {
        name: Spread.of([s / own_s[name.split(",")[0]] for s in values]) for name, values in seconds.items()
    }
    most = _SLOWDOWNS[factor]
    return Measured(
        row="slow_nic",
        hosts=bench.hosts,
        rate=bench.rate,
        bytes=nbytes,
        machine=describe_machine(),
        setting=f"one NIC slower by {factor:g}",
        rounds=rounds,
        seconds=_spreads(seconds),
        ratio_of="its own time without",
        ratios=ratios,
        wrong=wrong,
        load=(begin, os.getloadavg()[0]),
        goals=[
            Goal("noticed by itself, over its own time", ratios["hemiola"].median, most),
            Goal("told, over its own time", ratios["hemiola, told"].median, most),
        ],
    )


def _recover(hemiola: Contender, order: dict[str, Any]) -> None:
    """Have operations run until no port is thought slow: what is measured next begins without."""
    for _ in range(_MOST_TO_RECOVER):
        slow = hemiola.ask(ask="health")[0]["slow"]
        if not slow:
            return
        hemiola.ask(**order, repeats=1)
    raise RuntimeError(
        f"hemiola: expected a NIC that has recovered to be noticed within {_MOST_TO_RECOVER} operations, found {slow}"
    )


def late(bench: Bench) -> list[Measured]:
    """Time left once a rank has come that was late by a reduce-scatter's time; at most 0.65 of the ring's."""
    return [_late(bench, nbytes) for nbytes in bench.sizes[:1]]


def _late(bench: Bench, nbytes: int) -> Measured:
    hemiola, last = bench.contenders["hemiola"], bench.hosts - 1
    late_s = last / bench.hosts * nbytes / bench.goodput_Bps
    order = {"collective": "all_reduce", "bytes": nbytes}
    begin = os.getloadavg()[0]
    wrong = bench.wrong(order)
    behind = {"late": [last, late_s], "repeats": 1}
    for _ in range(_MOST_TO_NOTICE):
        if all(answer["is_expected"] for answer in hemiola.ask(ask="late", bytes=nbytes)):
            break
        hemiola.ask(**order, **behind)
    with _folder() as folder:
        ring = order | {"schedule": "all_reduce_ring"}
        told = order | {"schedule": bench.planned(folder, nbytes, hm.Conditions(late={last: late_s}))}
        asked = {name: _asking(contender, **order, **behind) for name, contender in bench.contenders.items()}
        asked |= {
            "hemiola, ring": _asking(hemiola, **ring, **behind),
            "hemiola, told": _asking(hemiola, **told, **behind),
        }
        wrong |= {"hemiola, ring": _wrong(hemiola, ring), "hemiola, told": _wrong(hemiola, told)}
        rounds = bench.rounds_of(nbytes)
        answers = bench.in_turns(f"a rank late by {late_s:.2f} s", rounds, asked)
    seconds = {
        name: [max(a["ended_s"] for a in each) - each[last]["came_s"] for each in got]
        for name, got in answers.items()
    }
    ratios = {
        name: Spread.of([a / b for a, b in zip(values, seconds["hemiola, ring"], strict=True)])
        for name, values in seconds.items()
    }
    return Measured(
        row="late",
        hosts=bench.hosts,
        rate=bench.rate,
        bytes=nbytes,
        machine=describe_machine(),
        setting=f"one rank late by {late_s * 1e3:.0f} ms; time after it has come",
        rounds=rounds,
        seconds=_spreads(seconds),
        ratio_of="the ring",
        ratios=ratios,
        wrong=wrong,
        load=(begin, os.getloadavg()[0]),
        goals=[
            Goal("noticed by itself, over the ring", ratios["hemiola"].median, 0.65),
            Goal("told, over the ring", ratios["hemiola, told"].median, 0.65),
        ],
    )


def traffic(bench: Bench) -> list[Measured]:
    """What NICs count over the payload that a ring moves; within 5 %. (Of 64 KiB they count one packet's headers.)"""
    nbytes = bench.sizes[0]
    begin = os.getloadavg()[0]
    wrong = bench.wrong({"collective": "all_reduce", "bytes": nbytes})
    payload = 2 * (bench.hosts - 1) / bench.hosts * nbytes
    seconds, ratios = {}, {}
    for name, contender in bench.contenders.items():
        before = [bench.cluster.counters(host) for host in range(bench.hosts)]
        order = {"collective": "all_reduce", "bytes": nbytes, "repeats": 1}
        seconds[name] = [_span_s(contender.ask(**order))]
        after = [bench.cluster.counters(host) for host in range(bench.hosts)]
        moved = [b.sent - a.sent for a, b in zip(before, after, strict=True)]
        moved += [b.received - a.received for a, b in zip(before, after, strict=True)]
        ratios[name] = Spread.of([each / payload for each in moved])
    return [
        Measured(
            row="traffic",
            hosts=bench.hosts,
            rate=bench.rate,
            bytes=nbytes,
            machine=describe_machine(),
            setting="bytes of all NICs, in and out",
            rounds=1,
            seconds=_spreads(seconds),
            ratio_of="the payload of a ring",
            ratios=ratios,
            wrong=wrong,
            load=(begin, os.getloadavg()[0]),
            goals=[
                Goal("the most a NIC counts", ratios["hemiola"].most, 1.05),
                Goal("1 over the least", 1 / ratios["hemiola"].least, 1.05),
            ],
        )
    ]


@contextmanager
def _slower(bench: Bench, factor: float) -> Iterator[None]:
    """Make one NIC slower for a while."""
    rate, _ = bench.cluster.rates(_SLOW_HOST)
    assert rate is not None
    bench.cluster.set_rate(_SLOW_HOST, rate / factor)
    try:
        yield
    finally:
        bench.cluster.set_rate(_SLOW_HOST, rate)


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def _asking(contender: Contender, **order: Any) -> Callable[[], Answers]:
    return lambda: contender.ask(**order)


def _wrong(contender: Contender, order: dict[str, Any]) -> int:
    return sum(int(answer["wrong"]) for answer in contender.ask(**order, check=True))


def _span_s(answers: Answers) -> float:
    """Return how long it took from when the last rank had come to when the last had ended."""
    return max(float(a["ended_s"]) for a in answers) - max(float(a["came_s"]) for a in answers)


def _spreads(seconds: Mapping[str, Sequence[float]]) -> dict[str, Spread]:
    return {name: Spread.of(values) for name, values in seconds.items()}


def _no_slower(seconds: Mapping[str, Sequence[float]]) -> Goal | None:
    """Compare with the fastest peer, round by round."""
    peers = [name for name in seconds if name != "hemiola"]
    if not peers:
        return None
    best = min(peers, key=lambda name: Spread.of(seconds[name]).median)
    paired = [a / b for a, b in zip(seconds["hemiola"], seconds[best], strict=True)]
    return Goal(f"over {best}, the fastest peer", Spread.of(paired).median, 1.0)
