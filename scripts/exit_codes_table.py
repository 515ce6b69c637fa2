# SPDX-License-Identifier: Apache-2.0
"""Writes docs/reference/exit-codes.md from hemiola.cli.exit_codes; scripts/generate.py calls it."""

from hemiola.cli import exit_codes

INTRODUCTION = """\
# Exit codes

Generated from `hemiola.cli.exit_codes` (`make generate`); do not edit. A code means the same for every command.

| exit code | meaning |
|---|---|
"""


def text() -> str:
    """Return the whole page."""
    rows = [f"| {code} | {meaning} |\n" for code, meaning in exit_codes.MEANINGS.items()]
    noes = [f"| `hemiola {name}` | {meaning} |\n" for name, meaning in exit_codes.NO_MEANS.items()]
    programs = ", ".join(f"`{name}`" for name in exit_codes.RUN_PROGRAMS)
    return "".join(
        [
            *(INTRODUCTION, *rows),
            f"\n{programs} return the exit code of the program that they run. If they fail themselves, they return "
            f"{exit_codes.NOT_STARTED}\ninstead of {exit_codes.MISTAKE}, {exit_codes.FAILED} and {exit_codes.BUG}. "
            f"{exit_codes.NOT_FOUND} says that there is no such program.\n\n",
            f"These commands return {exit_codes.NO}:\n\n| command | the answer is no |\n|---|---|\n",
            *noes,
        ]
    )
