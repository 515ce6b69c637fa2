# SPDX-License-Identifier: Apache-2.0
"""A file of another program, after its own run: the schedule that it describes, and the faults of the run."""

from __future__ import annotations

from dataclasses import dataclass

from hemiola._core import Schedule
from hemiola.topology.place import Place

#: Places that are listed; there may be more.
MOST_FAULTS = 100


@dataclass(frozen=True)
class Fault:
    """A place of the output that a file's run leaves wrong, or a race.

    Parameters
    ----------
    rule : str, the name that `verify` has for it.
    step : int, the number of steps, as `verify` says for what is wrong in the end.
    rank, chunk : int, the output's rank, and its chunk.
    message : str, the place, its content, and the expected content.
    """

    rule: str
    step: int
    rank: int
    chunk: int
    message: str


@dataclass(frozen=True)
class Artefact:
    """A schedule as another program has written it.

    Parameters
    ----------
    form : str, the format's name, such as "MSCCL XML".
    schedule : Schedule, the work of all ranks.
    faults : tuple of Fault, the first that the file's own run leaves; () where the run keeps the collective's promise.
    place : Place, the file's name.
    """

    form: str
    schedule: Schedule
    faults: tuple[Fault, ...]
    place: Place

    def right(self) -> Schedule:
        """Return the schedule of a right file.

        Returns
        -------
        Schedule

        Raises
        ------
        FormatError
            If the file's own run ends wrong; names the first place.
        """
        if self.faults:
            first = self.faults[0]
            more = f"; and {len(self.faults) - 1} other places are wrong" if len(self.faults) > 1 else ""
            self.place.fail(f"the run of this {self.form} ends wrong: {first.message}{more}")
        return self.schedule
