"""What `init` was asked for: that all ranks ask for the same, and that whoever asks again does, too."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hemiola._core import Session, Topology
from hemiola.communicator.emulation import Emulation
from hemiola.environment import WIRE
from hemiola.errors import ArgumentError, MismatchError


@dataclass(frozen=True)
class InitOptions:
    """The options of a job, as `init` takes them: `wires` is HEMIOLA_WIRE's, `control` the control plane's name,
    `topology` what to plan for, or why that cannot be read."""

    timeout_s: float
    keep_inputs: bool
    wires: str
    control: str
    emulation: Emulation | None
    topology: Topology | Exception | None = None

    def words(self) -> dict[str, str]:
        """Return each option in words; equal words mean equal options."""
        words = {
            "timeout_s": f"{self.timeout_s:g}",
            "keep_inputs": str(self.keep_inputs),
            WIRE.name: self.wires,
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

    def agree(self, session: Session) -> None:
        """Make sure that all ranks of a session have the same; all of them call this.

        Raises
        ------
        MismatchError
            on every rank, naming the first rank that differs from rank 0, and both values.
        """
        own = json.dumps(self.words()).encode()
        everybody = list(range(session.rank_count))
        told = [
            json.loads(words) for words in session.exchange(everybody, "options of init", own, self.timeout_s)
        ]
        difference = _first_difference(told)
        if difference is not None:
            raise MismatchError(f"init: {difference}; every rank must pass the same options")

    def check_again(self, asked: Mapping[str, str]) -> None:
        """Raise ArgumentError unless these options, in words, are the ones in force."""
        for name, value in self.words().items():
            if asked.get(name, value) != value:
                raise ArgumentError(
                    f"init: this process has joined its job with {name}={value}, and is now asked for "
                    f"{name}={asked[name]}. Call init() without options to get the communicator that there is, "
                    f"or close() it first"
                )


def _in_words(topology: Topology | Exception | None) -> str:
    if not isinstance(topology, Topology):
        return "None" if topology is None else f"({topology})"
    return f"{topology!r} with digest {hash(topology):016x}"


def _first_difference(told: Sequence[Mapping[str, str]]) -> str | None:
    """Say where a rank's options differ from rank 0's, if one's do."""
    for rank, words in enumerate(told):
        for name, value in words.items():
            if value != told[0][name]:
                return f"rank 0 passed {name}={told[0][name]}, rank {rank} {name}={value}"
    return None
