# SPDX-License-Identifier: Apache-2.0
"""What is held back of a rank's standard error, and that nothing of it is lost."""

from __future__ import annotations

import pytest

from hemiola.errors import PROGRAM_ENDED, Cause
from hemiola.launch import held_traceback
from hemiola.launch.culprit import Failure, Outcome
from hemiola.launch.held_traceback import HeldTraceback, error_of
from hemiola.launch.screen import consequences, ranks_in_words, screen_of

HEADER = "Traceback (most recent call last):"
CHAINED = f"""{HEADER}
  File "a.py", line 1, in <module>
KeyError: 'x'

During handling of the above exception, another exception occurred:

{HEADER}
  File "a.py", line 3, in <module>
    f(x)
    ^^^^
package.errors.BadBatch: bad batch 17
see the log
Exception ignored in: <function>"""


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (CHAINED, "BadBatch: bad batch 17"),
        (CHAINED.replace("\n", "\n[rank3]: "), "BadBatch: bad batch 17"),
        (f"{HEADER}\n  File 'a', line 1\nKeyboardInterrupt", "KeyboardInterrupt"),
        (
            '  File "a.py", line 1\n    def\n       ^\nSyntaxError: invalid syntax',
            "SyntaxError: invalid syntax",
        ),
        ("/bin/python: No module named x", "/bin/python: No module named x"),
        ("", ""),
    ],
)
def test_the_error_of_a_traceback_is_its_last_exception(text: str, error: str) -> None:
    assert error_of(text) == error


@pytest.mark.parametrize(
    "first",
    [
        HEADER,
        f"[rank12]: {HEADER}",
        f"  + Exception Group {HEADER}",
        '  File "a.py", line 3',
        "/usr/bin/python3.11: can't open file 'x'",
    ],
)
def test_all_lines_from_a_tracebacks_first_are_held_in_order(first: str) -> None:
    held = HeldTraceback(is_shown=False)
    assert held.take(b"a log line") == [b"a log line"]
    assert held.take(first.encode()) == held.take(b"after") == []
    assert held.text() == f"{first}\nafter"
    assert held.given_back() == [first.encode(), b"after"]
    assert held.take(b"later") == [b"later"]


def test_a_rank_that_goes_on_gets_its_traceback_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    held = HeldTraceback(is_shown=False)
    held.take(HEADER.encode())
    assert not held.is_overdue()
    monkeypatch.setattr(held_traceback, "_HELD_S", -1.0)
    assert held.is_overdue()


def test_a_traceback_without_end_is_not_held_for_ever() -> None:
    held = HeldTraceback(is_shown=False)
    given = [HEADER.encode(), *(b"line %d" % i for i in range(5000))]
    found = [line for each in given for line in held.take(each)]
    assert [*found, *held.given_back()] == given
    assert len(found) > 1000


def test_what_is_shown_at_once_is_not_shown_again() -> None:
    held = HeldTraceback(is_shown=True)
    assert held.take(HEADER.encode()) == [HEADER.encode()]
    assert held.given_back() == []


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        ([3], "rank 3"),
        ([0, 1], "ranks 0, 1"),
        ([0, 1, 2, 3, 4, 6, 7], "ranks 0-4, 6, 7"),
        ([1, 3, 4, 5], "ranks 1, 3-5"),
    ],
)
def test_ranks_stand_in_runs(ranks: list[int], words: str) -> None:
    assert ranks_in_words(ranks) == words


def _outcome(count: int) -> Outcome:
    """Given rank 5 that raised, and all others that lost it."""
    cause = Cause(5, PROGRAM_ENDED, 1.0)
    failures = [Failure(rank, 2.0 + rank, cause, 1 if rank != 5 else 7) for rank in range(count)]
    texts = {
        rank: f"{HEADER}\n  File 'a'\nhemiola.errors.LostRankError: on rank {rank}: rank 5 is lost"
        for rank in range(count)
        if rank != 5
    }
    return Outcome(failures, {failure.rank: failure.code or 0 for failure in failures}, {}, texts)


@pytest.mark.parametrize(("count", "others"), [(8, "ranks 0-4, 6, 7"), (64, "ranks 0-4, 6-63")])
def test_ranks_with_the_same_consequence_share_a_line(count: int, others: str) -> None:
    assert list(screen_of(_outcome(count), labels=True, is_verbose=False)) == [
        "hemiola: rank 5: exit code 7: raised SystemExit(7)",
        f"hemiola: {others}: LostRankError: rank 5 raised SystemExit(7)",
        "hemiola: rank 5: exit code 7: raised SystemExit(7)",
    ]


def test_many_different_errors_do_not_fill_the_screen() -> None:
    outcome = _outcome(64)
    alone = [Failure(failure.rank, failure.ended_s, None, 1) for failure in outcome.failures]
    texts = {rank: f"{HEADER}\nValueError: {rank}" for rank in range(64)}
    told = consequences(Outcome(alone, texts=texts))
    assert len(told) == 6
    assert told[-1] == "ranks 6-63: other errors"
