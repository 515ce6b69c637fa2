# SPDX-License-Identifier: Apache-2.0
"""Writes docs/reference/environment.md from the table in hemiola.environment; scripts/generate.py calls it."""

from hemiola.environment import VARIABLES

INTRODUCTION = """\
# Variables of the environment

Generated from the table in `hemiola.environment` (`make generate`); do not edit. An empty variable counts as not set.
`hemiola doctor` shows those that are set. `init` refuses a value that it cannot read, and a name that resembles one of
these and is none ("did you mean"); other names with the prefix `HEMIOLA_` are left alone.

| variable | written as | meaning |
|---|---|---|
"""


def text() -> str:
    """Return the whole page."""
    return INTRODUCTION + "".join(
        f"| `{variable.name}` | {variable.form} | {variable.meaning} |\n" for variable in VARIABLES
    )
