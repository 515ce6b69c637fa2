# SPDX-License-Identifier: Apache-2.0
"""Finds the rank to blame for a job's failure: failing ranks name the rank that they blame, and blame ends at a rank
that blames no other."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from hemiola.errors import PROGRAM_ENDED, Cause


@dataclass(frozen=True)
class Failure:
    """One rank that has failed.

    Parameters
    ----------
    rank : int.
    ended_s : float, when that was noticed.
    cause : Cause or None, whom it blames; None where it has not said.
    code : int or None, its exit code as a shell has it; None for a launched function, which has an exception instead.
    """

    rank: int
    ended_s: float
    cause: Cause | None = None
    code: int | None = None

    @property
    def blames(self) -> int:
        """The rank that it blames, which may be itself."""
        return self.rank if self.cause is None else self.cause.rank


def ended_in_words(code: int) -> str:
    """Return how a process ended, by its exit code as a shell has it."""
    return f"killed by signal {code - 128}" if code > 128 else f"exit code {code}"


def culprit_of(failures: Sequence[Failure]) -> int:
    """Return the rank to blame, which need not have ended itself: one may stand still.

    Parameters
    ----------
    failures : at least one, each of another rank.

    Notes
    -----
    A rank that blames another one is a consequence. Of several ranks that blame nobody the earliest is chosen, by the
    job's clock where somebody has told the time. Where ranks blame each other, as when they disagree about an
    operation, the one that most of them blame is chosen, and then the earliest.
    """
    blamed = {failure.rank: failure.blames for failure in failures}
    votes = Counter(blamed.values())
    roots = {rank for rank in votes if blamed.get(rank, rank) == rank}
    if roots:
        return min(roots, key=lambda rank: (*_time_of(rank, failures), rank))
    return min(votes, key=lambda rank: (-votes[rank], *_time_of(rank, failures), rank))


def _time_of(rank: int, failures: Sequence[Failure]) -> tuple[bool, float]:
    """Return when a rank failed, as a key: times that were told before those at which a process was seen to end."""
    told = [f.cause.at_s for f in failures if f.cause is not None and f.cause.rank == rank]
    if told:
        return False, min(told)
    return True, min(failure.ended_s for failure in failures if failure.rank == rank)


def reason_for(rank: int, failures: Sequence[Failure]) -> str:
    """Return why the culprit is blamed, in its own words or else in the earliest of the others'; "" for neither."""
    causes = [f.cause for f in failures if f.cause is not None and f.cause.rank == rank]
    own = [f.cause for f in failures if f.rank == rank and f.cause is not None and f.cause.rank == rank]
    return min(own or causes, key=lambda cause: cause.at_s).reason if causes else ""


@dataclass
class Outcome:
    """How a job's ranks, or those of one host, have ended.

    Attributes
    ----------
    failures : those that came by themselves.
    codes : the exit codes of all ranks that have ended.
    hosts : where a rank was.
    texts : with which traceback a rank has ended.
    late : failures of ranks that had been asked to end before.
    """

    failures: list[Failure] = field(default_factory=list)
    codes: dict[int, int] = field(default_factory=dict)
    hosts: dict[int, str] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)
    late: list[Failure] = field(default_factory=list)

    def add(self, other: Outcome) -> None:
        """Take in another host's."""
        self.failures += other.failures
        self.codes |= other.codes
        self.hosts |= other.hosts
        self.texts |= other.texts
        self.late += other.late

    @property
    def culprit(self) -> int | None:
        """The rank to blame; None where none has failed."""
        return culprit_of(self.failures) if self.failures else None

    @property
    def exit_code(self) -> int:
        """The culprit's exit code; where that has ended well, the code of the first rank that failed."""
        if not self.failures:
            return 0
        first = min(self.failures, key=lambda failure: failure.ended_s)
        return self.codes.get(culprit_of(self.failures), 0) or first.code or 1

    def in_words(self) -> str:
        """Name the culprit, and say how it ended and why."""
        culprit = culprit_of(self.failures)
        reason = self.exact(culprit, reason_for(culprit, self.failures))
        has_ended = any(failure.rank == culprit for failure in self.failures)
        code = (
            self.codes.get(culprit) if has_ended else None
        )  # one that stood still was ended by its launcher
        how = "" if code is None else ended_in_words(code)
        if how.startswith("killed"):
            reason = ""  # the others have seen less
        where = f" on {self.hosts[culprit]}" if culprit in self.hosts else ""
        return f"rank {culprit}{where}: {': '.join(word for word in (how, reason) if word)}"

    def exact(self, rank: int, reason: str) -> str:
        """Return why a rank is blamed, as its exit code tells it where the others have seen its end alone."""
        code = self.codes.get(rank, 0)
        return f"raised SystemExit({code})" if reason == PROGRAM_ENDED and 0 < code < 128 else reason

    def packed(self) -> str:
        """Return it as a line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def unpacked(cls, line: str) -> Outcome:
        """Read such a line; raise ValueError for another one."""
        told = json.loads(line)
        failures, late = (
            [
                Failure(**{**each, "cause": Cause(**each["cause"]) if each["cause"] else None})
                for each in told[name]
            ]
            for name in ("failures", "late")
        )
        by_rank = {
            name: {int(rank): value for rank, value in told[name].items()}
            for name in ("codes", "hosts", "texts")
        }
        return cls(failures, late=late, **by_rank)
