# SPDX-License-Identifier: Apache-2.0
"""Files that Hemiola reads, damaged at random: the same seed and number give the same bytes and the same command."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path

import hemiola as hm
from hemiola import synthesis, topologies
from hemiola.whole_file import write_whole

ROOT = Path(__file__).resolve().parent.parent
#: What trips readers: numbers at the edges of types, and pieces of the formats' own syntax.
_NUMBERS = (
    "0", "-1", "1", "2", "7", "255", "65536", "1048576", "4194304", "4294967295", str(2**62), str(2**63), "1e400",
    "nan", "inf", "1e-300", "0.5", "9" * 40,
)  # fmt: skip
_PIECES = (
    "\n", " ", ":", "[", "]", "{", "}", ",", "*", "+", "->", "#", "...", "---", "&a", "*a", "!!", "\t", "\0", "é",
    "\x1b[2J", "step ", "end ", "ranks ", "chunks ", "owners 0*", "weights 1*", "links:", "ranks: ", "dims: ",
    "hosts: ", "GB/s", " ps", "<gpu", "/>", "NV12", "SYS", "GPU0", "<!DOCTYPE a>", "&lt;", '"', "'", "null", "true",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A damaged file and the command that reads it; FILE in `arguments` stands for its path."""

    index: int
    kind: str
    suffix: str
    content: bytes
    arguments: tuple[str, ...]

    def command(self, path: Path, folder: Path) -> list[str]:
        """Return the arguments with real paths; what is written goes into the folder."""
        return [word.replace("FILE", str(path)).replace("FOLDER", str(folder)) for word in self.arguments]


class Corpus:
    """What is damaged: files of every kind that the commands read, by kind."""

    def __init__(self, folder: Path) -> None:
        files = _schedules(folder) + _topologies(folder) + _times(folder)
        self._files = [(kind, path.suffix, path.read_bytes()) for kind, path in files]
        hm.topologies.switch(4, latency_s=10e-6, bandwidth=1e9).save(folder / "cluster.yaml")
        self._cluster = str(folder / "cluster.yaml")

    def case(self, seed: int, index: int) -> Case:
        """Return a damaged file and a command, the same for the same numbers."""
        rng = random.Random(f"{seed}/{index}")
        kind, suffix, content = rng.choice(self._files)
        damaged = bytearray(content)
        for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
            damaged = _damage(damaged, rng, rng.choice(self._files)[2])
        return Case(index, kind, suffix, bytes(damaged), rng.choice(self._commands(kind)))

    def _commands(self, kind: str) -> list[tuple[str, ...]]:
        if kind == "schedule":
            return [
                ("verify", "FILE"),
                ("verify", "FILE", "--explain", "--json"),
                ("view", "FILE"),
                ("simulate", "FILE", self._cluster, "1MiB"),
                (
                    "simulate",
                    "FILE",
                    self._cluster,
                    "4096",
                    "--network",
                    "fifo",
                    "--trace",
                    "FOLDER/trace.json",
                ),
            ]
        if kind == "topology":
            return [
                ("topology", "show", "FILE"),
                ("topology", "show", "FILE", "--json"),
                ("topology", "convert", "FILE", "FOLDER/out.yaml"),
                ("topology", "convert", "FILE", "FOLDER/out.yaml", "--repeat", "2"),
                ("topology", "convert", "FILE", "FOLDER/out.yaml", "--nic-bandwidth", "25 GB/s"),
                ("simulate", "all_reduce_ring", "FILE", "1MiB"),
            ]
        return [("view", "FILE"), ("view", "FILE", "--json")]


def _schedules(folder: Path) -> list[tuple[str, Path]]:
    mesh = topologies.mesh([2, 2], latency_s=1e-6, bandwidth=1e9)
    made = {
        "ring": hm.algorithms.all_reduce_ring(4),
        "binomial": hm.algorithms.broadcast_binomial(4),
        "exchange": hm.algorithms.all_to_all_direct(4),
        "found": hm.synthesize(mesh, "all_gather", trials=1),
        "custom": hm.Schedule.from_transfers(
            hm.Collective.custom(4, 3, [(0, 0), (1, 1)], [(2, 0), (3, 1)], reducing=True),
            [(0, 0, 2, 0, True)],
            [1, 2, 3],
        ),
        "tree": synthesis.forest(mesh, "all_reduce").schedule,
    }
    paths = []
    for name, schedule in made.items():
        for suffix in (".sched", ".schedb"):
            path = folder / (name + suffix)
            schedule.save(path)
            paths.append(("schedule", path))
    return paths


def _topologies(folder: Path) -> list[tuple[str, Path]]:
    saved = folder / "saved.yaml"
    hm.topologies.hosts(2, 2, latency_s=1e-6, bandwidth=1e11, nic_latency_s=5e-6, nic_bandwidth=1e10).save(
        saved
    )
    examples = sorted((ROOT / "examples").glob("*.yaml"))
    dumps = sorted((ROOT / "tests" / "topology" / "data").iterdir())
    return [("topology", path) for path in (saved, *examples, *dumps)]


def _times(folder: Path) -> list[tuple[str, Path]]:
    """A document as `run --json` prints it, and a trace, which is no such document."""
    document = {
        "collective": "all_reduce", "nbytes": 1 << 20, "rank_count": 4, "bound_s": 1e-3,
        "algorithms": [{"algorithm": "all_reduce_ring", "predicted_s": 2e-3, "p50_s": 2.1e-3, "p99_s": 3e-3}],
    }  # fmt: skip
    write_whole(folder / "times.json", json.dumps(document, indent=2))
    ring = topologies.ring(4, latency_s=1e-6, bandwidth=1e9)
    hm.simulate(hm.algorithms.all_reduce_ring(4), ring, 4096).save_trace(folder / "trace.json")
    return [("times", folder / "times.json"), ("times", folder / "trace.json")]


def _damage(content: bytearray, rng: random.Random, other: bytes) -> bytearray:
    """Change one thing: bits, a span, a number, or a piece of another file."""
    at = rng.randrange(len(content) + 1)
    end = min(len(content), at + rng.choice((1, 2, 4, 16, 100)))
    match rng.randrange(9):
        case 0 if content:
            content[at % len(content)] ^= 1 << rng.randrange(8)
        case 1:
            del content[at:end]
        case 2:
            content[at:at] = content[at:end] * rng.choice((1, 2, 50))
        case 3:
            content[at:at] = rng.choice(_PIECES).encode()
        case 4:
            return content[:at]
        case 5:
            begin = rng.randrange(len(other) + 1)
            content[at:end] = other[begin : begin + 50]
        case 6:
            content[at:end] = rng.randbytes(end - at)
        case _:
            return _with_other_number(content, rng)
    return content


def _with_other_number(content: bytearray, rng: random.Random) -> bytearray:
    """Put another number in the place of one; where there is none, at the end."""
    digits = [i for i, byte in enumerate(content) if 48 <= byte <= 57]
    begin = end = rng.choice(digits) if digits else len(content)
    while begin > 0 and 48 <= content[begin - 1] <= 57:
        begin -= 1
    while end < len(content) and 48 <= content[end] <= 57:
        end += 1
    return content[:begin] + rng.choice(_NUMBERS).encode() + content[end:]
