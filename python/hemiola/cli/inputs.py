# SPDX-License-Identifier: Apache-2.0
"""Reads the commands' input files: topologies, and schedules by file or by an algorithm's name."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hemiola import algorithms
from hemiola._core import Schedule, Topology
from hemiola.cli.option_groups import NO_CHANGES, NO_SPEEDS, LinkChanges, LinkSpeeds
from hemiola.cli.output import printable
from hemiola.cli.values import read_link, read_slow_links, read_slow_ports
from hemiola.conditions import NIC_KEY, Conditions
from hemiola.errors import ArgumentError, FormatError, TopologyWarning
from hemiola.synthesis import DEFAULT_NBYTES, topology_algorithms
from hemiola.topology import files as topology_files
from hemiola.topology.named_nics import without_dead
from hemiola.topology.port_speed import port_speed
from hemiola.topology.wiring import TopologyFile
from hemiola.units import format_bytes

if TYPE_CHECKING:
    from hemiola.interchange.artefact import Fault

_DEFAULT_RANKS = 2
#: Warnings about one file that are printed.
_MOST_WARNINGS = 8
#: The options for the algorithms' conditions.
_OPTIONS = {"late": "--late 7=50ms", "slow": "--slow 0=2"}


def read_topology(
    path: Path, speeds: LinkSpeeds = NO_SPEEDS, changes: LinkChanges = NO_CHANGES
) -> TopologyFile:
    """Read a topology file, with the command line's figures for its links; raise FormatError or OSError that names it.

    Of figures that cannot be, a line on standard error names the value used instead.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TopologyWarning)
        read = topology_files.read(_existing(path), speeds.given())
    lines = list(dict.fromkeys(str(warning.message) for warning in caught))
    for line in lines[:_MOST_WARNINGS]:
        print(f"hemiola: warning: {printable(line)}", file=sys.stderr)
    if len(lines) > _MOST_WARNINGS:
        print(f"hemiola: warning: and {len(lines) - _MOST_WARNINGS} more of this file", file=sys.stderr)
    return without_nics(
        with_changed_links(read, changes.slow_link, changes.without_link), changes.without_nic
    )


def without_nics(read: TopologyFile, nics: Iterable[str] | None) -> TopologyFile:
    """Return the topology as --without-nic says; raise ArgumentError for a NIC that it has not, and for
    the last one of a host."""
    names = [part.strip().removeprefix(NIC_KEY) for text in nics or () for part in text.split(",")]
    return read.of(without_dead(read.topology, names)) if names else read


def with_changed_links(
    read: TopologyFile, slow: Iterable[str] | None, without: Iterable[str] | None
) -> TopologyFile:
    """Return the topology as --slow-link and --without-link say; raise ArgumentError for a link that it has not."""
    gone = [read_link(part, read.topology) for text in without or () for part in text.split(",")]
    if gone:
        read = read.of(read.topology.without_links(gone))
    parts = [part for text in slow or () for part in text.split(",")]
    if not parts:
        return read
    topology = read.topology
    links = {(int(src), int(dst)) for src, dst in topology.links[["src", "dst"]].tolist()}
    nics = [part for part in parts if part.strip().startswith(NIC_KEY)]
    factors: dict[int | tuple[int, int] | str, float] = {}
    factors.update(read_slow_ports(nics).items())
    for link, factor in read_slow_links((part for part in parts if part not in nics), topology).items():
        ways = [way for way in (link, link[::-1]) if way in links] or [
            link
        ]  # degraded() raises the error for a missing one
        factors.update({way: factor for way in ways})
    return read.of(topology.degraded(factors))


def emulated(path: Path | None, speeds: LinkSpeeds, changes: LinkChanges) -> Topology | None:
    """Read the cluster to imitate, with the command line's figures for its links; None where none is given."""
    if path is not None:
        return read_topology(path, speeds, changes).topology
    if changes.are_given or speeds.given().are_given:
        raise ArgumentError(
            "slow and missing links are emulated, so they need a cluster: --emulate cluster.yaml"
        )
    return None


def load_schedule(
    text: str,
    rank_count: int | None = None,
    root: int = 0,
    *,
    topology: Topology | None = None,
    nbytes: int = DEFAULT_NBYTES,
    conditions: Conditions | None = None,
) -> Schedule:
    """Read a schedule file, or generate an algorithm's schedule for that many ranks, a topology, or conditions on it.

    Raises ArgumentError where the text is neither, or names an algorithm and nothing says for how many ranks, for
    which topology, or for which late or slow ranks.
    """
    if text in algorithms.names():
        if rank_count is None:
            raise ArgumentError(f"for how many ranks is '{text}' meant? Say --ranks 8, for instance")
        return algorithms.get(text).generate(rank_count, root=root)
    if text in topology_algorithms.names():
        return _made_for_topology(text, topology, nbytes, root)
    if text in algorithms.names(needs=None):
        return _made_for_conditions(algorithms.get(text), topology, nbytes, conditions or Conditions(), root)
    path = Path(text)
    if not _exists(path):
        known = {*algorithms.names(needs=None), *topology_algorithms.names()}
        close = difflib.get_close_matches(text, sorted(known), n=3, cutoff=0.5)
        meant = (
            f"; did you mean {' or '.join(close)}?"
            if close
            else "; docs/reference/algorithms.md lists their names"
        )
        raise ArgumentError(f"'{printable(text)}' is neither a schedule file nor an algorithm{meant}")
    existing = _existing(path)
    return Schedule.load(existing)


def load_judged(text: str, rank_count: int | None = None) -> tuple[Schedule, tuple[Fault, ...]]:
    """Read a schedule as `load_schedule` does, with the faults of its own run where another program has written it."""
    from hemiola.interchange import files

    path = Path(text)
    if text not in algorithms.names(needs=None) and _exists(path) and files.is_foreign(_existing(path)):
        artefact = files.read(path)
        return artefact.schedule, artefact.faults
    return load_schedule(text, rank_count), ()


def load_if_schedule(text: str) -> Schedule | None:
    """Return the schedule of another program's JSON file; None where it is something else."""
    from hemiola.interchange import files

    return files.load_if_schedule(_existing(Path(text)))


def _made_for_topology(name: str, topology: Topology | None, nbytes: int, root: int) -> Schedule:
    if topology is None:
        kind, pattern = topology_algorithms.split(name)
        raise ArgumentError(
            f"'{name}' is made for a topology; write it to a file first: hemiola synthesize {kind} cluster.yaml "
            f"--algorithm {pattern} --out x.sched"
        )
    return topology_algorithms.generate(name, topology, nbytes=nbytes, root=root)


def _made_for_conditions(
    algorithm: algorithms.Algorithm, topology: Topology | None, nbytes: int, conditions: Conditions, root: int
) -> Schedule:
    """Make a schedule for late or slow ranks, as --late and --slow say who that is."""
    name, need = algorithm.name, algorithm.needs
    if topology is None:
        raise ArgumentError(
            f"'{name}' is made for {need} ranks of a network: see it with hemiola simulate {name} cluster.yaml 64MiB "
            f"{_OPTIONS[need]}, or write hemiola.algorithms.{name}(…) to a file with save()"
        )
    if not (conditions.late if need == "late" else conditions.slow):
        raise ArgumentError(f"'{name}' is made for {need} ranks; say which: {_OPTIONS[need]}")
    speed = port_speed(topology, conditions)
    task = algorithms.Task(algorithm.kind, topology.rank_count, nbytes, speed, conditions, root, topology)
    return algorithm.schedule_for(task)


def read_text(path: Path, limit: int = 1 << 26) -> str:
    """Read a text file of at most `limit` bytes; raise FormatError or OSError that names it."""
    existing = _existing(path)
    with open(existing, "rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise FormatError(f"'{printable(existing)}' is larger than {format_bytes(limit)}")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"'{printable(existing)}' is no text: byte {error.start} is not UTF-8") from None


def _existing(path: Path) -> str:
    """Return the path as text, or raise OSError: the readers' own errors then speak of content."""
    if not _exists(path):
        raise FileNotFoundError(2, "no such file", printable(str(path)))
    if path.is_dir():
        raise IsADirectoryError(21, "expected a file, found a directory", printable(str(path)))
    with path.open("rb"):
        return str(path)


def is_folder(text: str) -> bool:
    """Return whether a text is the path of a folder."""
    return _exists(Path(text)) and Path(text).is_dir()


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (ValueError, OSError):  # a NUL byte in the name, or a name that is too long
        return False


def rank_count_of(ranks: int | None, cluster: Topology | None) -> int:
    """Return how many ranks to start: as many as --ranks says, or as the cluster has, or two."""
    if cluster is not None and ranks not in (None, cluster.rank_count):
        raise ArgumentError(
            f"--ranks says {ranks}, but the cluster has {cluster.rank_count} ranks; leave --ranks out"
        )
    count = ranks if ranks is not None else cluster.rank_count if cluster is not None else _DEFAULT_RANKS
    if count < 1:
        raise ArgumentError("expected at least 1 rank, found 0")
    return count


def load_array(path: Path) -> NDArray[Any]:
    """Read a .npy file without unpickling anything; raise FormatError or OSError that names it."""
    existing = _existing(path)
    try:
        return np.asarray(np.load(existing, mmap_mode="r", allow_pickle=False))
    except (ValueError, EOFError, OSError) as error:
        raise FormatError(f"'{printable(existing)}' is no .npy file of numbers: {error}") from None
