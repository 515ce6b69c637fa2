# SPDX-License-Identifier: Apache-2.0
"""How ranks that have a store in common come together: on one host in shared memory, else at rank 0's address.

Everybody that can read the store is trusted with its contents, among them the secret of a job on several hosts."""

from __future__ import annotations

import json
import logging
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from hemiola import environment
from hemiola._core import LocalSession, Session
from hemiola.communicator.joining import Doorway
from hemiola.communicator.rendezvous import Meeting
from hemiola.communicator.words_of_ranks import read_words
from hemiola.environment import needs_addresses
from hemiola.errors import ArgumentError, Cause, FormatError, MismatchError, TimeoutError
from hemiola.side_channel import log

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.0005, 0.05
#: Where newcomers find the name of the job that met here last.
_JOB_KEY = "hemiola/job"


@runtime_checkable
class Store(Protocol):
    """A store that the ranks of a job have in common: any of torch.distributed, or any object with these methods."""

    def add(self, key: str, amount: int, /) -> int:
        """Add to a number that is 0 at first; return the sum."""

    def set(self, key: str, value: str, /) -> None:
        """Note a value."""

    def get(self, key: str, /) -> bytes:
        """Return it."""

    def check(self, keys: list[str], /) -> bool:
        """Say whether all of these have been set."""


@dataclass(frozen=True)
class _Card:
    """What rank 0 must know of a rank. Ranks with equal places may have memory in common."""

    rank_count: int
    place: str
    needs_addresses: bool

    @classmethod
    def of_words(cls, told: Any) -> _Card:
        return cls(int(told["rank_count"]), str(told["place"]), bool(told["needs_addresses"]))


@dataclass(frozen=True)
class _Decision:
    """What rank 0 tells all: a name to meet by on one host, or where it listens; or why they cannot meet."""

    rank_count: int
    name: str
    rank_zero: Sequence[str] = ()
    token: str = ""
    local_ranks: Sequence[int] = ()
    wrong: str = ""

    @classmethod
    def of_words(cls, told: Any) -> _Decision:
        bytes.fromhex(told["token"])
        return cls(
            int(told["rank_count"]),
            str(told["name"]),
            tuple(map(str, told["rank_zero"])),
            told["token"],
            tuple(map(int, told["local_ranks"])),
            str(told["wrong"]),
        )


class Doorplate:
    """Where newcomers find a job: a word in its store, which the first member writes."""

    def __init__(self, store: Store, meeting: Meeting, own: Sequence[str] = ()) -> None:
        self._store = store
        words = {"name": meeting.name, "token": meeting.token.hex(), "members": list(own)}
        self._words = json.dumps(words)

    def hang(self) -> None:
        """Write it. A store that has ended with its keeper is no loss to the members."""
        try:
            self._store.set(_JOB_KEY, self._words)
        except Exception as error:  # of any store's own kind
            log(logging.WARNING, "newcomers cannot find this job: its store takes no words: %s", error)


def join_at(
    meet_at: Store | str, rank: int, rank_count: int, timeout_s: float
) -> tuple[Session, Doorplate | None]:
    """Wait for all other ranks, at a store or by a name; raises the errors of `Communicator.join`."""
    if not 1 <= rank_count < 1 << 20 or not 0 <= rank < rank_count:
        raise ArgumentError(
            f"join: expected a rank in 0 … rank_count-1, found rank {rank} and rank_count {rank_count}"
        )
    if not isinstance(meet_at, str):
        return join_through_store(rank, rank_count, meet_at, timeout_s)
    if needs_addresses():
        raise ArgumentError(
            f"join: {environment.WIRE.name} asks for a wire that needs addresses, which ranks that meet by a name do "
            f"not tell each other; let them meet at a store"
        )
    return LocalSession.join(rank, rank_count, meet_at, timeout_s), None


def join_through_store(
    rank: int, rank_count: int, store: Store, timeout_s: float
) -> tuple[Session, Doorplate]:
    """Wait for all other ranks, each of which calls this with the same store.

    Parameters
    ----------
    rank, rank_count : int, this rank and how many there are.
    store : Store. The n-th meeting of a rank is with the n-th of every other one, so a store serves any number, one
        after the other.
    timeout_s : float, seconds.

    Returns
    -------
    Session, and where newcomers find it.

    Raises
    ------
    MismatchError
        on every rank, where they say different numbers of ranks, or rank 0 has no address at which others reach it.
    TimeoutError, LostRankError
        naming the ranks that did not come.
    ArgumentError
        where ranks are on several hosts, and this one has no such address.

    Notes
    -----
    Rank 0 reads a value of each rank, all others one.
    """
    begin = time.monotonic()
    place = f"hemiola/meeting {store.add(f'hemiola/meetings of rank {rank}', 1)}"
    card, doorway = _Card(rank_count, _place(), needs_addresses()), None
    if rank == 0:
        others = {f"{place}/{other}": other for other in range(1, rank_count)}
        _await(store, others, timeout_s)
        try:
            cards = [
                read_words(store.get(key), other, "a card", _Card.of_words) for key, other in others.items()
            ]
        except FormatError as error:
            store.set(place, json.dumps(asdict(_Decision(rank_count, "", wrong=str(error)))))
            raise
        decision, doorway = _decided([card, *cards])
        store.set(place, json.dumps(asdict(decision)))
    else:
        store.set(f"{place}/{rank}", json.dumps(asdict(card)))
        _await(store, {place: 0}, timeout_s)
        decision = read_words(store.get(place), 0, "a decision how to meet", _Decision.of_words)
    if decision.wrong or decision.rank_count != rank_count:
        raise MismatchError(
            decision.wrong
            or f"rank 0 joins {decision.rank_count} ranks, rank {rank} joins {rank_count}; all must say the same"
        )
    left_s = max(0.0, begin + timeout_s - time.monotonic())
    if not decision.rank_zero:
        session = LocalSession.join(rank, rank_count, decision.name, left_s)
        return session, Doorplate(store, Meeting((), b"", decision.name))
    meeting = Meeting(tuple(decision.rank_zero), bytes.fromhex(decision.token), decision.name)
    doorway = doorway or Doorway.open(local_rank=decision.local_ranks[rank])
    hosts = doorway.join(rank, rank_count, meeting, left_s)
    return hosts, Doorplate(store, meeting, doorway.endpoints)


def job_at(store: Store, timeout_s: float) -> Meeting:
    """Return where the members of the job are found whose ranks met last at a store; nowhere where they are on one
    machine.

    Raises
    ------
    TimeoutError
        where none has met there.
    """
    _await(store, {_JOB_KEY: 0}, timeout_s)
    return read_words(store.get(_JOB_KEY), 0, "a job's place", _meeting_of_words)


def _meeting_of_words(told: Any) -> Meeting:
    return Meeting(tuple(map(str, told["members"])), bytes.fromhex(told["token"]), str(told["name"]))


def _await(store: Store, keys: Mapping[str, int], timeout_s: float) -> None:
    """Wait until these are in the store; the mapping says which rank puts which there.

    Looks again and again: a store's own waiting cannot be interrupted, and does not say what it has waited for.
    """
    deadline, pause_s = time.monotonic() + timeout_s, _FIRST_PAUSE_S
    while not store.check(list(keys)):
        if time.monotonic() > deadline:
            missing = [rank for key, rank in keys.items() if not store.check([key])]
            who = f"rank {missing[0]} has" if len(missing) == 1 else f"ranks {missing} have"
            waits = "; perhaps it waits for others itself" if missing == [0] else ""
            late = TimeoutError(f"{who} not come to the store within {timeout_s:g} s{waits}")
            late.cause = Cause(
                missing[0], f"has not come to the store within {timeout_s:g} s", time.monotonic()
            )
            raise late
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)


def _decided(cards: Sequence[_Card]) -> tuple[_Decision, Doorway | None]:
    """Say, as rank 0, how all meet; and where it listens, if it does."""
    rank_count, name = len(cards), f"store-{secrets.token_hex(8)}"
    for rank, card in enumerate(cards):
        if card.rank_count != rank_count:
            wrong = (
                f"rank 0 joins {rank_count} ranks, rank {rank} joins {card.rank_count}; all must say the same"
            )
            return _Decision(rank_count, name, wrong=wrong), None
    places = [card.place for card in cards]
    if len(set(places)) == 1 and not any(card.needs_addresses for card in cards):
        return _Decision(rank_count, name), None
    try:
        doorway = Doorway.open()
    except ArgumentError as error:
        return _Decision(rank_count, name, wrong=f"rank 0: {error}"), None
    token = secrets.token_hex(environment.TOKEN_BYTES)
    local_ranks = [places[:rank].count(place) for rank, place in enumerate(places)]
    return _Decision(rank_count, name, doorway.endpoints, token, local_ranks), doorway


def _place() -> str:
    """Return what is the same for ranks that may share memory: their user on one kernel, in one network and one process
    namespace."""
    spaces = [os.stat(f"/proc/self/ns/{kind}").st_ino for kind in ("net", "pid")]
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot} {spaces} {os.getuid()}"
