# SPDX-License-Identifier: Apache-2.0
"""The meanings of the commands' exit codes: each one thing for each command."""

from __future__ import annotations

from collections.abc import Sequence

DONE, NO, MISTAKE, FAILED = 0, 1, 2, 3
BUG = 70
#: Of a command that runs a program, whose own codes are handed on: the codes of env, timeout and docker for the same
#: failure.
NOT_STARTED, NOT_FOUND = 125, 127
INTERRUPTED = 130
NO_READER = 141

MEANINGS = {
    DONE: "done, and the answer is yes where there is a question",
    NO: "the answer is no; only the commands of the table below return it",
    MISTAKE: "a mistake in what was typed, or a file that cannot be read or written; a line says which",
    FAILED: "the job failed: a rank was lost or did not come in time, or the machine refused what it needs; a line "
    "says why",
    BUG: "a bug in Hemiola; please report the traceback",
    INTERRUPTED: "interrupted with Ctrl-C",
    NO_READER: "whoever read the output has gone, as `head` does; there may have been more to say",
}

#: The meaning of NO, by command; the others never return it.
NO_MEANS = {
    "run": "an element of a result was wrong",
    "bench": "an element of a result was wrong",
    "simulate": "the schedule is wrong",
    "verify": "a schedule is wrong",
    "view": "the schedule is wrong",
    "topology show": "not all ranks reach each other",
    "doctor": "something that every run needs is broken, or an element was wrong",
    "diagnose": "something slows the ranks",
}

#: The commands that run a program. All codes but NOT_STARTED, NOT_FOUND, INTERRUPTED and NO_READER are that program's.
RUN_PROGRAMS = ("launch", "cluster run", "cluster exec")


def of_own_failure(words: Sequence[str], code: int) -> int:
    """Return the code of a failure that is the command's own and not that of a program which it runs."""
    command = " ".join(words[:2])
    runs_program = any(f"{command} ".startswith(f"{name} ") for name in RUN_PROGRAMS)
    return NOT_STARTED if runs_program and code in (MISTAKE, FAILED, BUG) else code
