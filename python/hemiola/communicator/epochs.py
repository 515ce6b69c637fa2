# SPDX-License-Identifier: Apache-2.0
"""The epochs of a communicator: who came, who went and why, when, and how long the others stood for it.

The history is text, which a rank keeps, tells newcomers, and shows to `hemiola status`. Nobody reads it before it is
asked for."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

from hemiola._core import Session
from hemiola.communicator.words_of_ranks import read_words
from hemiola.errors import Cause, FormatError
from hemiola.units import format_bytes, format_seconds

#: So many epochs are kept, in so many bytes; the oldest go first.
_MOST, _MOST_BYTES = 1000, 256 << 10


@dataclass(frozen=True)
class Epoch:
    """A time in which a communicator had the same ranks, from a change on.

    Parameters
    ----------
    number : int, 0 of the ranks that founded it.
    ranks : tuple of int, by their numbers in the job, sorted.
    joined, left : tuple of int, the ranks that came with this change, and those that had said that they leave.
    lost : mapping of int to str, the ranks that went without a word, and why: "has died".
    at_s : float, when it began, in seconds of Unix time on the clock of the first rank.
    took_s : float, seconds from that rank's call of `grow` or `shrink` to the next communicator; 0 of the first epoch.
    healed_bytes : int, bytes that `heal` has moved in this epoch, between all ranks.
    healed_s : float, how long that took.
    """

    number: int
    ranks: tuple[int, ...]
    joined: tuple[int, ...] = ()
    left: tuple[int, ...] = ()
    lost: Mapping[int, str] = field(default_factory=dict)
    at_s: float = 0.0
    took_s: float = 0.0
    healed_bytes: int = 0
    healed_s: float = 0.0

    def __hash__(self) -> int:
        return hash((self.number, self.ranks, self.at_s))

    def __str__(self) -> str:
        """Return the change in a sentence's words: "rank 4 joined; rank 1 was lost: has died"."""
        told = [
            f"{_named(who)} {what}" for who, what in ((self.joined, "joined"), (self.left, "left")) if who
        ]
        told += [f"rank {rank} was lost: {reason}" for rank, reason in self.lost.items()]
        if not told:
            told = ["the ranks met" if self.number == 0 else "the same ranks made a new communicator"]
        if self.healed_bytes:
            told.append(
                f"{format_bytes(self.healed_bytes)} of state moved in {format_seconds(self.healed_s)}"
            )
        return "; ".join(told)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it.

        Returns
        -------
        dict of the attributes by their names; the lost ranks' numbers are text.
        """
        return {**asdict(self), "lost": {str(rank): reason for rank, reason in self.lost.items()}}


def _named(ranks: Sequence[int]) -> str:
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))}"


@dataclass(frozen=True)
class History:
    """A communicator's epochs as text: a line of JSON about the present, then one per epoch, the oldest first.

    The first line has the present ranks, and the numbers of joins, leaves and losses since the first epoch, also of
    those that are kept no more. The other lines leave `ranks` out, since a change and the ranks after it tell those
    before it.
    """

    text: str

    @classmethod
    def founded(cls, ranks: Sequence[int]) -> History:
        """Begin, with the ranks that found a communicator."""
        present = {"ranks": sorted(ranks), "joins": 0, "leaves": 0, "losses": 0}
        return cls._of(present, [_line(Epoch(0, (), at_s=time.time()))])

    @classmethod
    def _of(cls, present: Mapping[str, Any], lines: list[str]) -> History:
        kept = lines[-_MOST:]
        spare = sum(map(len, kept)) - _MOST_BYTES
        while spare > 0 and len(kept) > 1:
            spare -= len(kept.pop(0))
        return cls("\n".join([json.dumps(present), *kept]))

    @classmethod
    def of_words(cls, told: bytes, sender: int) -> History:
        """Take the history that a rank tells; FormatError naming it for bytes that no rank sends.

        Others wait meanwhile, so of the epochs only the latest one is read.
        """
        present, _, lines = told.partition(b"\n")
        read_words(present, sender, "a history", lambda one: _check(one, lines.rpartition(b"\n")[2]))
        return cls(told.decode("utf-8", "replace"))

    @property
    def present(self) -> dict[str, Any]:
        """The first line."""
        told: dict[str, Any] = json.loads(self.text.partition("\n")[0])
        return told

    def then(self, ranks: Sequence[int], session: Session, took_s: float) -> History:
        """Return it with one more epoch, of these ranks; the session knows why others went."""
        head, *lines = self.text.split("\n")
        present = json.loads(head)
        gone = sorted(set(present["ranks"]) - set(ranks))
        left = tuple(rank for rank in gone if session.has_taken_leave(rank))
        losses = session.losses() if len(left) < len(gone) else {}
        change = Epoch(
            number=json.loads(lines[-1])["number"] + 1,
            ranks=(),
            joined=tuple(sorted(set(ranks) - set(present["ranks"]))),
            left=left,
            lost={rank: _reason(rank, losses.get(rank)) for rank in gone if rank not in left},
            at_s=time.time(),
            took_s=took_s,
        )
        present["ranks"] = sorted(ranks)
        for total, who in (("joins", change.joined), ("leaves", change.left), ("losses", change.lost)):
            present[total] += len(who)
        return self._of(present, [*lines, _line(change)])

    def healed(self, nbytes: int, seconds: float) -> History:
        """Return it with bytes that `heal` has moved in the present epoch."""
        head, *lines = self.text.split("\n")
        last = json.loads(lines[-1])
        last["healed_bytes"] += nbytes
        last["healed_s"] += seconds
        return History("\n".join([head, *lines[:-1], json.dumps(last)]))

    def latest(self) -> Epoch:
        """Return the present epoch."""
        return replace(_epoch(json.loads(self.text.rpartition("\n")[2])), ranks=tuple(self.present["ranks"]))

    def epochs(self) -> tuple[Epoch, ...]:
        """Return the epochs that are kept, the oldest first; FormatError where they were damaged on their way here."""
        ranks = set(self.present["ranks"])
        found: list[Epoch] = []
        for line in reversed(self.text.split("\n")[1:]):
            try:
                epoch = _epoch(json.loads(line))
            except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
                raise FormatError(
                    f"expected an epoch of this communicator, found {line[:60]!r}: {error}. It was damaged on its way "
                    f"from another rank"
                ) from None
            found.append(replace(epoch, ranks=tuple(sorted(ranks))))
            ranks = (ranks - set(epoch.joined)) | set(epoch.left) | set(epoch.lost)
        return tuple(reversed(found))


def _line(epoch: Epoch) -> str:
    told = epoch.as_dict()
    del told["ranks"]
    return json.dumps(told)


def _epoch(told: Mapping[str, Any]) -> Epoch:
    lost = {int(rank): str(reason) for rank, reason in told["lost"].items()}
    return Epoch(
        **{**told, "ranks": (), "joined": tuple(told["joined"]), "left": tuple(told["left"]), "lost": lost}
    )


def _check(told: Any, last: bytes) -> None:
    """Raise ValueError or its kin unless this is the first line of a history, and the last one is an epoch."""
    if not all(isinstance(rank, int) for rank in told["ranks"]):
        raise ValueError("ranks that are no numbers")
    if not all(isinstance(told[total], int) for total in ("joins", "leaves", "losses")):
        raise ValueError("totals that are no numbers")
    _epoch(json.loads(last))


def _reason(rank: int, cause: object) -> str:
    if not isinstance(cause, Cause):
        return "did not come to the others"
    return cause.reason if cause.rank == rank else f"gave up when rank {cause.rank} {cause.reason}"


class Past(NamedTuple):
    """The history of the communicator before, and when its end began, by `time.monotonic`."""

    history: History
    since_s: float

    def then(self, ranks: Sequence[int], session: Session) -> History:
        """Return the history of a communicator of these ranks, which stands now."""
        return self.history.then(ranks, session, time.monotonic() - self.since_s)


def told_history(session: Session, ranks: Sequence[int], past: Past | None, limit_s: float) -> History:
    """Return the history of a communicator that follows another; all its ranks call this, and return the same.

    A newcomer has no past, and a member none of a communicator that did not come to stand there. The first rank that
    stays tells it.
    """
    everybody = sorted(ranks)
    own = b""
    if past is not None and session.rank == min(set(past.history.present["ranks"]) & set(ranks)):
        own = past.then(ranks, session).text.encode()
    for sender, told in zip(everybody, session.exchange(everybody, "history", own, limit_s), strict=True):
        if told:
            return History.of_words(told, sender)
    return History.founded(ranks)  # all that had one have gone meanwhile
