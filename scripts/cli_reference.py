# SPDX-License-Identifier: Apache-2.0
"""Writes docs/reference/cli.md from the commands' own help; scripts/generate.py calls it."""

from collections.abc import Iterator
from typing import Any

import typer

from hemiola.cli import exit_codes, make_app

INTRODUCTION = """\
# The command line

Generated from the commands' help (`make generate`); do not edit. `hemiola COMMAND --help` prints the same.

Sizes and times carry their units: `64MiB`, `1GB`, `4096`; `50ms`, `0.5us`. Ranks with a value are written
`7=50ms` or `0=2`, repeated or joined with commas. Every command that answers takes `--json`.
[exit-codes.md](exit-codes.md) has the exit codes.
"""


def text() -> str:
    """Return the whole page."""
    group = typer.main.get_command(make_app())
    sections = [describe(name, command) for name, command in commands(group, "hemiola")]
    return "\n".join([INTRODUCTION, *sections])


def commands(group: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield each command with its full name, in the order of the help; groups yield what is in them."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix} {name}")
        else:
            yield f"{prefix} {name}", command


def describe(name: str, command: Any) -> str:
    """Return one command's section: usage, explanation, parameters."""
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    usage = " ".join(
        [name, *(argument_usage(argument) for argument in arguments), *(["[OPTIONS]"] if options else [])]
    )
    rows = [f"| `{argument_usage(argument)}` | {argument.help or ''} |" for argument in arguments]
    rows += [f"| {option_usage(option)} | {option.help or ''}{default(option)} |" for option in options]
    no = exit_codes.NO_MEANS.get(name.removeprefix("hemiola "))
    told = [f"Exit code {exit_codes.NO}: {no}.", ""] if no else []
    return "\n".join(
        [
            f"## {name}",
            "",
            "```text",
            usage,
            "```",
            "",
            command.help.strip(),
            "",
            *told,
            "| | |",
            "|---|---|",
            *rows,
            "",
        ]
    )


def argument_usage(argument: Any) -> str:
    """Return SIZE, or [SIZE] where it may be left out."""
    name = argument.metavar or argument.name.upper()
    return name if argument.required else f"[{name}]"


def option_usage(option: Any) -> str:
    """Return the option's spellings with what they take."""
    takes = "" if option.is_flag else f" {option.metavar or option.name.upper()}"
    return ", ".join(f"`{spelling}{takes}`" for spelling in (*option.opts, *option.secondary_opts))


def default(option: Any) -> str:
    """Return what holds where the option is not given, unless that is nothing."""
    value = getattr(option.default, "value", option.default)
    return "" if value is None or value is False or option.is_flag else f" Default: {value}."
