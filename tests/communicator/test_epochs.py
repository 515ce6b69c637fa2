# SPDX-License-Identifier: Apache-2.0
"""The history of a communicator: what a change writes down, and what is read back."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from hemiola.communicator.epochs import Epoch, History, Past, told_history
from hemiola.errors import Cause, FormatError


@dataclass
class Known:
    """What a session knows of ranks that went; others' words in an exchange."""

    leavers: tuple[int, ...] = ()
    causes: dict[int, Cause] = field(default_factory=dict)
    rank: int = 0
    told: dict[int, bytes] = field(default_factory=dict)

    def has_taken_leave(self, rank: int) -> bool:
        return rank in self.leavers

    def losses(self) -> dict[int, Cause]:
        return self.causes

    def exchange(self, members: list[int], key: str, own: bytes, timeout_s: float) -> list[bytes]:
        return [own if rank == self.rank else self.told.get(rank, b"") for rank in members]


def after(history: History, ranks: list[int], **known: Any) -> History:
    return history.then(ranks, cast(Any, Known(**known)), 0.25)


def test_a_change_says_who_came_left_and_was_lost_and_why() -> None:
    # Given: ranks 0 to 4. Rank 1 leaves, 2 has died, 3 gives up over it, 4 is not there, and 5 comes.
    causes = {2: Cause(2, "has died", 0.0), 3: Cause(2, "has died", 0.0)}
    changed = after(History.founded(range(5)), [0, 5], leavers=(1,), causes=causes)
    founded, last = changed.epochs()
    assert (founded.number, founded.ranks, founded.took_s) == (0, (0, 1, 2, 3, 4), 0.0)
    assert str(founded) == "the ranks met"
    assert (last.number, last.ranks, last.took_s) == (1, (0, 5), 0.25)
    assert (last.joined, last.left) == ((5,), (1,))
    lost = {2: "has died", 3: "gave up when rank 2 has died", 4: "did not come to the others"}
    assert last.lost == lost
    assert str(last) == (
        "rank 5 joined; rank 1 left; rank 2 was lost: has died; rank 3 was lost: gave up when rank 2 has died; "
        "rank 4 was lost: did not come to the others"
    )
    assert founded.at_s <= last.at_s
    assert changed.present == {"ranks": [0, 5], "joins": 1, "leaves": 1, "losses": 3}


def test_each_epochs_ranks_follow_from_the_changes_after_it() -> None:
    history = History.founded([0, 1])
    history = after(history, [0, 1, 2, 3])
    history = after(history, [0, 2, 3], leavers=(1,))
    history = after(history, [2, 3, 4])
    assert [epoch.ranks for epoch in history.epochs()] == [(0, 1), (0, 1, 2, 3), (0, 2, 3), (2, 3, 4)]
    assert str(history.epochs()[1]) == "ranks 2, 3 joined"


def test_healed_bytes_are_added_to_the_present_epoch() -> None:
    history = after(History.founded([0]), [0, 1]).healed(1 << 20, 0.5).healed(1 << 20, 0.5)
    before, last = history.epochs()
    assert (before.healed_bytes, last.healed_bytes, last.healed_s) == (0, 2 << 20, 1.0)
    assert str(last) == "rank 1 joined; 2 MiB of state moved in 1 s"


def test_the_latest_thousand_epochs_are_kept_and_totals_count_all() -> None:
    history = History.founded([0])
    for number in range(1, 1501):
        history = after(history, [0, number] if number % 2 else [0], leavers=(number - 1,))
    epochs = history.epochs()
    assert [epoch.number for epoch in epochs] == list(range(501, 1501))
    assert epochs[0].ranks == (0, 501)
    assert (history.present["joins"], history.present["leaves"]) == (750, 750)


def test_long_reasons_do_not_grow_a_history_without_bound() -> None:
    history = History.founded([0, 1])
    for number in range(1, 400):
        causes = {number: Cause(number, "x" * 1000, 0.0)}
        history = after(history, [0, number + 1], causes=causes)
    assert len(history.text) < 260 << 10
    assert history.epochs()[-1].number == 399
    assert history.epochs()[0].ranks == (0, history.epochs()[0].number + 1)


def test_the_first_rank_that_stays_tells_all_others() -> None:
    past = History.founded([0, 1, 2])
    told = after(past, [1, 2, 3]).text.encode()
    began_s = time.monotonic()
    teller = told_history(cast(Any, Known(rank=1)), [1, 2, 3], Past(past, began_s - 9), 1.0)
    assert [epoch.ranks for epoch in teller.epochs()] == [(0, 1, 2), (1, 2, 3)]
    assert 9 <= teller.latest().took_s <= 9 + time.monotonic() - began_s
    assert teller.latest() == teller.epochs()[-1]
    for rank, own in ((2, Past(past, 0.0)), (3, None)):
        heard = told_history(cast(Any, Known(rank=rank, told={1: told})), [1, 2, 3], own, 1.0)
        assert heard.text.encode() == told
    alone = told_history(cast(Any, Known(rank=3)), [3], None, 1.0)
    assert [epoch.ranks for epoch in alone.epochs()] == [(3,)]


@pytest.mark.parametrize(
    "told",
    [
        b"\xff",
        b"[]\n{}",
        b'{"ranks": ["a"], "joins": 0, "leaves": 0, "losses": 0}\n{}',
        b'{"ranks": [0], "joins": 0, "leaves": 0, "losses": 0}\n{"number": 0}',
        b'{"ranks": [0], "joins": 0, "leaves": 0, "losses": 0}',
    ],
)
def test_a_history_that_no_rank_tells_names_its_sender(told: bytes) -> None:
    with pytest.raises(FormatError, match="rank 7 has sent what no rank sends: a history"):
        History.of_words(told, 7)


def test_an_old_epoch_that_was_damaged_is_named_when_it_is_read() -> None:
    first, old, last = after(History.founded([0]), [0, 1]).text.split("\n")
    damaged = History.of_words("\n".join([first, old[:-5], last]).encode(), 7)
    assert damaged.latest().joined == (1,)
    with pytest.raises(FormatError, match="expected an epoch of this communicator, found"):
        damaged.epochs()


def test_an_epoch_can_be_a_key_though_it_has_a_mapping() -> None:
    assert len({Epoch(1, (0,), lost={1: "has died"}), Epoch(1, (0,), lost={1: "has died"})}) == 1
