# SPDX-License-Identifier: Apache-2.0
"""`hemiola launch`: a program's ranks, on this host or several, as torchrun and mpirun start them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from hemiola.cli import options, values
from hemiola.cli.output import answer, printable
from hemiola.environment import RENDEZVOUS
from hemiola.errors import ArgumentError
from hemiola.launch.programs import SSH, Program, Starter, on_this_host, run_program, through

#: Arguments behind the program are the program's.
CONTEXT = {"allow_interspersed_args": False}

RanksPerHost = Annotated[
    int,
    typer.Option(
        "--ranks", "-n", metavar="COUNT", parser=options.reads(values.read_count), help="Ranks on each host."
    ),
]
ProgramWords = Annotated[
    list[str],
    typer.Argument(
        metavar="PROGRAM",
        help="script.py, or any program, with its arguments.",
    ),
]
Environment = Annotated[
    list[str] | None,
    typer.Option(
        "--env",
        metavar="NAME[=VALUE]",
        help="Give ranks this variable; without a value, as it is here. May be repeated. HEMIOLA_* go along anyway.",
    ),
]
Module = Annotated[
    bool, typer.Option("--module", "-m", help="The program is a Python module: package.train.")
]
Labels = Annotated[bool, typer.Option("--labels/--no-labels", help="Begin each line with its rank.")]

Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose", help="Print every rank's traceback where the job fails, each line behind its rank."
    ),
]


def launch(
    program: ProgramWords,
    ranks: RanksPerHost = 1,
    hosts: Annotated[
        str | None,
        typer.Option("--hosts", metavar="HOSTS", help="Names, joined with commas: a,b. Default: this one."),
    ] = None,
    remote_shell: Annotated[
        str,
        typer.Option(
            "--remote-shell", metavar="COMMAND", help="How hosts are reached; the command comes behind it."
        ),
    ] = SSH,
    python: Annotated[
        str | None,
        typer.Option(
            "--python", metavar="PATH", help="Python on the hosts. Default: this one's.", show_default=False
        ),
    ] = None,
    module: Module = False,
    env: Environment = None,
    labels: Labels = True,
    verbose: Verbose = False,
    as_json: options.Json = False,
) -> int:
    """Start a program on several ranks, which 'hemiola.init()' joins, and end all when one fails or with Ctrl-C.

    The exit code is that of the rank to blame, 128 and the signal's number where it was killed. The folder and
    Python must be the same on all hosts. With --json the ranks' output goes to standard error.

    Example: hemiola launch -n 4 train.py --epochs 3
    """
    made = Program(
        command_of(program, python or sys.executable, module=module),
        ranks,
        environment=read_environment(env),
        python=python or sys.executable,
        labels=labels,
        verbose=verbose,
    )
    names = read_hosts(hosts) if hosts is not None else []
    starters: dict[str, Starter] = {name: through(remote_shell, name) for name in names}
    code = run_program(
        made,
        starters or {"localhost": on_this_host},
        RENDEZVOUS.value(),
        sys.stderr.buffer if as_json else None,
    )
    report(as_json, made, [printable(name) for name in names], ranks * max(1, len(names)), code)
    return code


def report(as_json: bool, made: Program, hosts: Sequence[str], rank_count: int, code: int) -> None:
    """Answer with what was started and how it went, if JSON was asked for."""
    if as_json:
        started = {"program": list(made.command), "hosts": list(hosts), "ranks": rank_count}
        answer(True, {**started, "exit_code": code})


def command_of(program: list[str], python: str, *, module: bool) -> list[str]:
    """Return a rank's command: a script or module by Python, anything else as it is."""
    words = [printable(word) for word in program]
    if module:
        return [python, "-m", *words]
    return [python, *words] if words[0].endswith(".py") else words


def read_environment(settings: list[str] | None) -> dict[str, str]:
    """Read NAME=VALUE, or NAME for the value that it has here."""
    found = {}
    for setting in settings or ():
        name, equals, value = setting.partition("=")
        if not name or not (equals or name in os.environ):
            raise ArgumentError(
                f"--env: expected NAME=VALUE, or a variable that is set here, found '{printable(setting)}'"
            )
        found[name] = value if equals else os.environ[name]
    return found


def read_hosts(text: str) -> list[str]:
    """Read 'a,b' as names of hosts, each once."""
    names: list[str] = [name.strip() for name in printable(text).split(",")]
    for place, name in enumerate(names):
        if not name or name.startswith("-") or name in names[:place]:
            raise ArgumentError(f"--hosts: expected names such as 'a,b', each once, found '{name}'")
    return names
