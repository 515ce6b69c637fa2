# SPDX-License-Identifier: Apache-2.0
"""The options of `init` or `join`: all ranks must ask for the same ones, and so must a later call."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from hemiola import environment
from hemiola._core import CommunicatorOptions, Session, Topology
from hemiola.communicator.arguments import limit_of
from hemiola.communicator.control_plane import chosen_control_plane
from hemiola.communicator.emulation import Emulation
from hemiola.communicator.words_of_ranks import read_words
from hemiola.environment import ADAPT, WIRE
from hemiola.errors import ArgumentError, FormatError, MismatchError


@dataclass(frozen=True)
class InitOptions:
    """The options of a job, as `init` and `join` take them. `wires` is HEMIOLA_WIRE's and `adapt` HEMIOLA_ADAPT's
    value, `control` the control plane's name, and `topology` the network to plan for, or the reason why it cannot be
    read."""

    timeout_s: float
    keep_inputs: bool
    wires: str
    adapt: frozenset[str]
    control: str
    emulation: Emulation | None
    topology: Topology | Exception | None = None

    @classmethod
    def of(
        cls,
        timeout_s: float | None,
        keep_inputs: bool | None,
        topology: Topology | str | os.PathLike[str] | None,
        adapt: str | None,
        emulation: Emulation | None = None,
    ) -> InitOptions:
        """Check the given options, and fill in the others.

        Raises
        ------
        ArgumentError
            for a timeout or words of `adapt` that are none. An error in a topology's file is raised later, on all
            ranks.
        """
        return cls(
            timeout_s=limit_of(timeout_s, environment.TIMEOUT.value()),
            keep_inputs=True if keep_inputs is None else keep_inputs,
            wires=WIRE.value(),
            adapt=_adapting(adapt),
            control=chosen_control_plane(),
            emulation=emulation,
            topology=topology if topology is None or isinstance(topology, Topology) else _read(topology),
        )

    @property
    def network(self) -> Topology | None:
        """The given topology, if there is one; raises the error of its file."""
        if isinstance(self.topology, Exception):
            raise self.topology
        return self.topology

    def check_topology(self, rank_count: int) -> None:
        """Raise ArgumentError unless the topology that was given, if one was, is one of so many ranks."""
        topology = self.network
        if topology is not None and topology.rank_count != rank_count:
            raise ArgumentError(
                f"topology: '{topology.name}' has {topology.rank_count} ranks, the job has {rank_count}; measure this "
                f"job's network with 'hemiola calibrate', or leave the topology out"
            )

    @cached_property
    def for_core(self) -> CommunicatorOptions:
        """The options that the core must know."""
        emulation = self.emulation
        return CommunicatorOptions(
            timeout_s=self.timeout_s,
            keep_inputs=self.keep_inputs,
            wires=self.wires,
            ucx_libraries=environment.ucx_libraries(),
            control=self.control,
            recorded_transfers=environment.RECORD_TRANSFERS.value(),
            emulate=emulation.topology if emulation else None,
            late=emulation.conditions.late if emulation else {},
            slow=emulation.conditions.slow_ranks if emulation else {},
        )

    def words(self) -> dict[str, str]:
        """Return each option in words; equal words mean equal options."""
        words = {
            "timeout_s": f"{self.timeout_s:g}",
            "keep_inputs": str(self.keep_inputs),
            WIRE.name: self.wires,
            "adapt": ",".join(sorted(self.adapt)) or "none",
            "control plane": self.control,
            "topology": _in_words(self.topology),
            "emulate": "None",
            "conditions": "None",
        }
        if self.emulation is not None:
            conditions = self.emulation.conditions
            words["emulate"] = _in_words(self.emulation.topology)
            words["conditions"] = f"late={dict(conditions.late)}, slow={dict(conditions.slow)}"
        return words

    def invitation(self) -> str:
        """Return what newcomers need of the options of a job to which they may come."""
        told = dataclasses.asdict(dataclasses.replace(self, emulation=None, topology=None))
        return json.dumps({**told, "adapt": sorted(self.adapt)})

    @classmethod
    def invited(cls, invitation: str) -> InitOptions:
        """Return the options of the job that has sent an invitation; MismatchError where its ranks are in C."""
        told = json.loads(invitation)
        if "library" in told:
            raise MismatchError(
                "the job's ranks are of libhemiola, which chooses schedules in other words; come to it with "
                "hemiola_join in C"
            )
        return cls(**{**told, "adapt": frozenset(told["adapt"])})

    def why_nobody_may_come(self) -> str:
        """Return why no newcomer may come to a job with these options; empty where they may."""
        for name, network in (("emulate", self.emulation), ("topology", self.topology)):
            if network is not None:
                return f"'{name}' gave it a network of so many ranks as it has; leave that out"
        if "mpi" in self.wires.split(","):
            return (
                f"its wire is MPI, which has a fixed number of ranks; leave it out of {environment.WIRE.name}"
            )
        return ""

    def agree(self, session: Session, caller: str = "init") -> None:
        """Make sure that all ranks of a session have the same; all of them call this. `caller` is told in errors.

        Raises
        ------
        MismatchError
            on every rank, naming the first rank that differs from rank 0, and both values.
        """
        own = json.dumps(self.words()).encode()
        everybody = list(range(session.rank_count))
        words = session.exchange(everybody, "options of init", own, self.timeout_s)
        told = [read_words(words[rank], rank, "options of init", _as_options) for rank in everybody]
        difference = _first_difference(told)
        if difference is not None:
            raise MismatchError(f"{caller}: {difference}; every rank must pass the same options")

    def check_again(self, asked: Mapping[str, str]) -> None:
        """Raise ArgumentError unless these options, in words, are the ones in force."""
        for name, value in self.words().items():
            if asked.get(name, value) != value:
                raise ArgumentError(
                    f"init: this process has joined its job with {name}={value}, and is now asked for "
                    f"{name}={asked[name]}. Call init() without options to get the communicator that there is, "
                    f"or close() it first"
                )


def _adapting(words: str | None) -> frozenset[str]:
    """Return what a program, or else HEMIOLA_ADAPT, says to adapt to."""
    if words is None:
        return ADAPT.value()
    try:
        return ADAPT.read(words)
    except FormatError as error:
        raise ArgumentError(f"adapt: {error}") from None


def _read(path: str | os.PathLike[str]) -> Topology | Exception:
    """Return what a file holds, or why it cannot be read."""
    try:
        return Topology.load(path)
    except (OSError, FormatError, ArgumentError) as error:
        return error


def _in_words(topology: Topology | Exception | None) -> str:
    if not isinstance(topology, Topology):
        return "None" if topology is None else f"({topology})"
    return f"{topology!r} with digest {hash(topology):016x}"


def _as_options(told: object) -> dict[str, str]:
    if not isinstance(told, dict) or not all(isinstance(value, str) for value in told.values()):
        raise ValueError(f"expected a word for each option, found {str(told)[:100]}")
    return told


def _first_difference(told: Sequence[Mapping[str, str]]) -> str | None:
    """Say where a rank's options differ from rank 0's, if one's do."""
    for rank, words in enumerate(told):
        for name, value in words.items():
            if value != told[0][name]:
                return f"rank 0 passed {name}={told[0][name]}, rank {rank} {name}={value}"
    return None
