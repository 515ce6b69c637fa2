# SPDX-License-Identifier: Apache-2.0
"""`hemiola completion`: scripts for shells, made of the commands' parameters. No shell starts Python to complete."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from hemiola import algorithms
from hemiola.arguments.names import KINDS, OPERATIONS
from hemiola.cli import options
from hemiola.cli.output import answer
from hemiola.measure.pattern import DTYPES


class Shell(StrEnum):
    """The shells that are completed."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


@dataclass(frozen=True)
class Place:
    """The words that may follow a command, and those that may follow each of its options that takes one."""

    command: str
    names: tuple[str, ...]
    options: tuple[tuple[tuple[str, ...], str, tuple[str, ...]], ...]


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
    as_json: options.Json = False,
) -> None:
    """Print a script with which bash, zsh or fish completes commands, options and names.

    Load it with `eval "$(hemiola completion bash)"` in ~/.bashrc, with zsh in ~/.zshrc, or with
    `hemiola completion fish | source` in fish's configuration. Where no name fits, the shell offers files.

    Example: hemiola completion bash
    """
    script = {Shell.bash: _bash, Shell.zsh: _zsh, Shell.fish: _fish}[shell](list(_places()))
    if as_json:
        answer(True, {"shell": shell.value, "script": script})
    else:
        typer.echo(script)


def _places() -> Iterator[Place]:
    from hemiola.cli import make_app  # which imports this module, and here every other command

    yield from _of(typer.main.get_command(make_app()), "hemiola")


def _of(command: Any, path: str) -> Iterator[Place]:
    below = getattr(command, "commands", {})
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    given = [each for each in command.params if each.param_type_name == "option"]
    found = [((*each.opts, *each.secondary_opts), each.help or "", _values(each)) for each in given]
    found.append((("--help", "-h"), "Show the help and exit.", ()))
    yield Place(path, (*below, *(word for each in arguments for word in _values(each))), tuple(found))
    for name, each in below.items():
        yield from _of(each, f"{path} {name}")


def _values(parameter: Any) -> tuple[str, ...]:
    """Return the known words for an argument or an option's value; none where any may follow, such as a file."""
    if isinstance(parameter.default, StrEnum):
        return tuple(type(parameter.default))
    by_metavar = {"COLLECTIVE": KINDS, "OP": OPERATIONS, "TYPE": DTYPES, "SHELL": tuple(Shell)}
    if parameter.metavar in ("SCHEDULE", "SCHEDULE...", "SOURCE"):
        return tuple(algorithms.names(needs=None))
    if parameter.name == "algorithm" and parameter.metavar == "NAMES":
        return ("auto", "all", *algorithms.names(needs=None))
    return tuple(by_metavar.get(parameter.metavar, ()))


def _cases(places: list[Place]) -> str:
    """Return the body that bash and zsh share: $at is the command so far, $before the word before the last."""
    lines = ['case "$at" in']
    for place in places:
        words = [*place.names, *(spelling for spellings, _, _ in place.options for spelling in spellings)]
        lines.append(f"  {shlex.quote(place.command)}) names={shlex.quote(' '.join(words))} ;;")
    lines += ["esac", 'case "$at $before" in']
    for place in places:
        for spellings, _, values in place.options:
            if values:
                patterns = "|".join(shlex.quote(f"{place.command} {spelling}") for spelling in spellings)
                lines.append(f"  {patterns}) names={shlex.quote(' '.join(values))} ;;")
    return "\n".join(f"  {line}" for line in [*lines, "esac"])


def _walk(places: list[Place]) -> str:
    known = "|".join(shlex.quote(place.command) for place in places[1:])
    return f'    case "$at $each" in {known}) at="$at $each" ;; esac'


def _bash(places: list[Place]) -> str:
    return f"""\
_hemiola() {{
  local at=hemiola word=$2 before=$3 names= each
  for each in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
{_walk(places)}
  done
{_cases(places)}
  COMPREPLY=($(compgen -W "$names" -- "$word"))
}}
complete -o default -o bashdefault -F _hemiola hemiola"""


def _zsh(places: list[Place]) -> str:
    return f"""\
#compdef hemiola
_hemiola() {{
  local at=hemiola before=${{words[CURRENT-1]}} names= each
  for each in "${{(@)words[2,CURRENT-1]}}"; do
{_walk(places)}
  done
{_cases(places)}
  compadd -- ${{=names}}
  _files
}}
compdef _hemiola hemiola"""


def _fish(places: list[Place]) -> str:
    """fish finds the command itself: a place is where its words are there, and none of those below it."""
    lines = []
    for place in places:
        words = place.command.split()[1:]
        below = [
            each.command.split()[-1] for each in places if each.command.split()[:-1] == place.command.split()
        ]
        conditions = [f"__fish_seen_subcommand_from {word}" for word in words]
        conditions += [f"not __fish_seen_subcommand_from {' '.join(below)}"] if below else []
        where = f"complete -c hemiola -n {shlex.quote('; and '.join(conditions) or 'true')}"
        if place.names:
            lines.append(f"{where} -a {shlex.quote(' '.join(place.names))}")
        for spellings, text, values in place.options:
            names = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in spellings]
            takes = f" -x -a {shlex.quote(' '.join(values))}" if values else ""
            lines.append(f"{where} {' '.join(names)}{takes} -d {shlex.quote(text.partition('. ')[0])}")
    return "\n".join(lines)
