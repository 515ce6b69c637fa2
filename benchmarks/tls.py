# SPDX-License-Identifier: Apache-2.0
"""All-reduces between hosts with encrypted connections and with plain ones, of Hemiola and of PyTorch's Gloo.

Hosts are network namespaces of this machine whose NICs have no limit, a rank on each. The contenders take turns in
every round, and those whose turn it is not are stopped. Each one's result is compared with the right one, element by
element, before it is measured. Ratios are of the same round.

PyTorch's wheels bring a Gloo without TLS. Where that is so, the reason is printed. Gloo's own benchmark, built with
USE_TCP_OPENSSL_LINK=ON, shows its TLS: `--gloo-benchmark` names the program, which then takes its turn in each round.
Without it Gloo's plain TCP is the mark: it does less than Gloo's TLS would."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from certificates import Authority
from hemiola.cluster import Cluster
from hemiola.machine.capacity import describe_machine
from hemiola.whole_file import write_whole
from meeting import PORT, meeting

ROOT = Path(__file__).resolve().parent.parent
RANK = Path(__file__).with_name("tls_ranks.py")
PAGE = ROOT / "docs/results/tls.md"
#: Bytes of an all-reduce, and how many of them are timed together.
SIZES = {1 << 10: 200, 1 << 20: 20, 16 << 20: 3}
_NAMES = {1 << 10: "1 KiB", 1 << 20: "1 MiB", 16 << 20: "16 MiB"}


_OF_BENCHMARK = """
The column "gloo TLS" is of Gloo's own benchmark program, built from its sources with `USE_TCP_OPENSSL_LINK=ON`. It runs
`allreduce_ring_chunked` for a second in each round, and its median counts.
"""


class UnavailableError(Exception):
    """A contender does not start; its last words."""


@dataclass
class Contender:
    """The ranks of one library, plain or encrypted."""

    ranks: list[subprocess.Popen[str]]

    def ask(self, **order: Any) -> list[dict[str, float]]:
        """Let the ranks go on, give them an order, and stop them again; return their answers."""
        self._signal(signal.SIGCONT)
        for rank in self.ranks:
            assert rank.stdin is not None
            print(json.dumps(order), file=rank.stdin, flush=True)
        answers = [self.hear(rank) for rank in self.ranks]
        self._signal(signal.SIGSTOP)
        return answers

    def hear(self, rank: subprocess.Popen[str]) -> Any:
        """Return a rank's next line."""
        assert rank.stdout is not None
        line = rank.stdout.readline()
        if not line:
            assert rank.stderr is not None
            raise UnavailableError((rank.stderr.read().strip().splitlines() or ["no reason given"])[-1])
        return json.loads(line)

    def time_s(self, nbytes: int, repeats: int) -> float:
        """Return the seconds of one operation, from the first rank's beginning to the last one's end."""
        answers = self.ask(collective="all_reduce", bytes=nbytes, repeats=repeats, warm_up=2)
        came = min(answer["came_s"] for answer in answers)
        return (max(answer["ended_s"] for answer in answers) - came) / repeats

    def end(self) -> None:
        """End all ranks."""
        for rank in self.ranks:
            rank.kill()
            rank.wait()

    def _signal(self, number: int) -> None:
        for rank in self.ranks:
            rank.send_signal(number)


def environments(files: Path) -> dict[str, dict[str, str]]:
    """Return each contender's own variables."""
    gloo = {
        "GLOO_DEVICE_TRANSPORT": "TCP_TLS",
        "GLOO_DEVICE_TRANSPORT_TCP_TLS_PKEY": str(files / "tls.key"),
        "GLOO_DEVICE_TRANSPORT_TCP_TLS_CERT": str(files / "tls.crt"),
        "GLOO_DEVICE_TRANSPORT_TCP_TLS_CA_FILE": str(files / "ca.crt"),
    }
    return {"hemiola": {}, "hemiola TLS": {"HEMIOLA_TLS": str(files)}, "gloo": {}, "gloo TLS": gloo}


@contextlib.contextmanager
def contender(cluster: Cluster, name: str, own: dict[str, str], port: int) -> Iterator[Contender]:
    """Start one, and stop it until it is asked."""
    count = len(cluster.hosts)
    shared = os.environ | meeting(cluster, count, 1, port=port) | own
    shared |= {"WORLD_SIZE": str(count), "MASTER_ADDR": cluster.hosts[0].ipv4, "MASTER_PORT": str(port + 1)}
    shared |= {"GLOO_SOCKET_IFNAME": "eth0", "HEMIOLA_SILENCE": "60s", "TORCH_CPP_LOG_LEVEL": "ERROR"}
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    pipes["stderr"] = subprocess.PIPE
    started = Contender([])
    try:
        for host in range(count):
            of_rank = shared | {"HEMIOLA_RANK": str(host), "RANK": str(host)}
            command = [sys.executable, str(RANK), name.split()[0]]
            started.ranks.append(cluster.start(host, command, env=of_rank, **pipes))
        for rank in started.ranks:
            started.hear(rank)
        for nbytes in SIZES:
            if any(
                answer["wrong"] for answer in started.ask(check=True, collective="all_reduce", bytes=nbytes)
            ):
                raise RuntimeError(f"{name}: an all-reduce of {nbytes} bytes is wrong")
        yield started
    finally:
        started.end()


class GlooBenchmark:
    """Gloo's own benchmark with encrypted connections: its all-reduce by a ring in chunks."""

    def __init__(self, cluster: Cluster, program: Path, files: Path) -> None:
        self._cluster = cluster
        self._command = [
            str(program), "--size", str(len(cluster.hosts)), "--transport", "tls", "--tcp-device", "eth0",
            "--pkey", str(files / "tls.key"), "--cert", str(files / "tls.crt"), "--ca-file", str(files / "ca.crt"),
            "--iteration-time", "1s",
        ]  # fmt: skip

    def time_s(self, nbytes: int, repeats: int) -> float:
        """Return the median of one operation's seconds within one second of them."""
        with tempfile.TemporaryDirectory() as place:
            ranks = [
                self._cluster.start(
                    host,
                    [*self._command, "--rank", str(host), "--shared-path", place, "--elements", str(nbytes // 4),
                     "allreduce_ring_chunked"],
                    stdout=subprocess.PIPE,
                    text=True,
                )
                for host in range(len(self._cluster.hosts))
            ]  # fmt: skip
            said = [rank.communicate(timeout=60)[0] for rank in ranks]
        rows = [line.split() for line in said[0].splitlines() if line.split()[:1] == [str(nbytes)]]
        return float(rows[0][3]) * 1e-6  # bytes, elements, then the least and the median in microseconds


def measure(hosts: int, rounds: int, program: Path | None) -> tuple[dict[int, dict[str, list[float]]], str]:
    """Return the seconds of each contender by size, a figure a round; and why Gloo has no TLS, where it has none."""
    missing = ""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as up:
        files = Authority(Path(folder) / "authority").files("ranks")
        cluster = up.enter_context(Cluster(hosts))
        started: dict[str, Contender | GlooBenchmark] = {}
        for number, (name, own) in enumerate(environments(files).items()):
            try:
                started[name] = up.enter_context(contender(cluster, name, own, PORT + 10 * number))
            except UnavailableError as error:
                if name != "gloo TLS":
                    raise
                missing = str(error)
        if missing and program is not None:
            started["gloo TLS"] = GlooBenchmark(cluster, program, files)
        return {
            nbytes: _rounds(started, nbytes, repeats, rounds) for nbytes, repeats in SIZES.items()
        }, missing


def _rounds(
    started: dict[str, Contender | GlooBenchmark], nbytes: int, repeats: int, rounds: int
) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in started}
    for _ in range(rounds):
        for name, one in started.items():
            found[name].append(one.time_s(nbytes, repeats))
    return found


def ratio(found: dict[str, list[float]], of: str, to: str) -> float:
    """Return the median over the rounds of one contender's time beside another's."""
    return statistics.median(a / b for a, b in zip(found[of], found[to], strict=True))


def table(found: dict[int, dict[str, list[float]]]) -> str:
    """Return the figures as a table of Markdown."""
    names = list(next(iter(found.values())))
    pairs = [("hemiola TLS", "hemiola"), ("hemiola TLS", "gloo")]
    if "gloo TLS" in names:
        pairs += [("gloo TLS", "gloo"), ("hemiola TLS", "gloo TLS")]
    heads = [*names, *(f"{of} over {to}" for of, to in pairs)]
    lines = [f"| all-reduce of | {' | '.join(heads)} |", "|---|" + "--:|" * len(heads)]
    for nbytes, of_size in found.items():
        times = [f"{statistics.median(of_size[name]) * 1e6:,.0f} µs" for name in names]
        ratios = [f"{ratio(of_size, *pair):.2f}" for pair in pairs]
        lines.append(f"| {_NAMES[nbytes]} | {' | '.join([*times, *ratios])} |")
    return "\n".join(lines) + "\n"


def main(words: Sequence[str] | None = None) -> int:
    """Measure, and print the table; 1 where Hemiola's TLS is slower than Gloo's TLS, or than its plain TCP."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--hosts", type=int, default=2, help="network namespaces, a rank on each (2)")
    parser.add_argument("--rounds", type=int, default=15, help="rounds, in each of which all take turns (15)")
    parser.add_argument("--gloo-benchmark", type=Path, metavar="PROGRAM", help="Gloo's own, built with TLS")
    parser.add_argument("--report", action="store_true", help="write docs/results/tls.md")
    asked = parser.parse_args(words)
    found, missing = measure(asked.hosts, asked.rounds, asked.gloo_benchmark)
    text = table(found)
    if missing:
        text += f"\nPyTorch's Gloo has no TLS: asked for it, it raises `{missing}`.\n"
    has_tls = "gloo TLS" in next(iter(found.values()))
    if missing and has_tls:
        text += _OF_BENCHMARK
    Console(width=200).print(text, markup=False)
    if asked.report:
        write_whole(PAGE, _page(text, asked))
    mark = "gloo TLS" if has_tls else "gloo"
    return int(any(ratio(of_size, "hemiola TLS", mark) > 1 for of_size in found.values()))


def _page(text: str, asked: argparse.Namespace) -> str:
    return f"""# TLS between hosts

<!-- written by benchmarks/tls.py --report -->
All-reduces of float32 between {asked.hosts} hosts, which are network namespaces of one machine with a rank on each.
Their NICs have no limit, so that the cost of encryption shows. Contenders take turns in {asked.rounds} rounds. Times
are medians. Ratios are medians of the rounds' ratios. Other programs may have kept the cores busy, which stretches the
times of those that compute most.

Gloo is that of PyTorch's CPU build, asked for TLS with `GLOO_DEVICE_TRANSPORT=TCP_TLS`. All
have the same certificates.

Reproduce: `python benchmarks/tls.py --report`, with `--gloo-benchmark` where that program is there

Machine: {describe_machine()}.

{text}"""


if __name__ == "__main__":
    sys.exit(main())
